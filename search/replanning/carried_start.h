#pragma once

#include <span>
#include <vector>

#include "neuroshard/backend.h"
#include "neuroshard/stop_condition.h"
#include "search/canonical_task.h"
#include "search/replanning/carried_tables.h"
#include "search/state/moved_bytes.h"
#include "search/state/table_ways.h"

namespace neuroshard {

/// Makes starts near to a running plan. Borrows all.
struct CarriedStart {
  const Backend& backend;  ///< A CPU's.
  const CanonicalTask& canonical;
  const WayOptions& ways;
  const MoveTerms& moves;
  std::span<const CarriedTable> tables;  ///< Of the listed task; each has its way.
  const StopCondition& stop;

  /// Plans of the listed task, all of which fit, that leave slices where they are. What has no
  /// place, or finds no room any more where it is, is placed greedily, cut more or less finely.
  /// Empty: none fits.
  [[nodiscard]] std::vector<Plan> plans() const;
};

/// A plan of the listed task whose slices have the columns that their devices hold.
[[nodiscard]] Plan with_kept_columns(const Backend& backend, const CanonicalTask& canonical,
                                     const WayOptions& ways, const MoveTerms& moves,
                                     const Plan& plan);

/// A plan whose devices, if they are all alike, are renumbered so that they keep much of what they
/// hold: those that would keep most choose first. Where nodes matter they are renumbered.
[[nodiscard]] Plan renumbered_to_keep(const RunningHolders& holders, Plan plan);

}  // namespace neuroshard
