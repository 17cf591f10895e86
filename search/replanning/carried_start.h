#pragma once

#include <span>
#include <vector>

#include "neuroshard/backend.h"
#include "neuroshard/stop_condition.h"
#include "search/bundled_task.h"
#include "search/replanning/carried_tables.h"
#include "search/state/moved_bytes.h"
#include "search/state/table_ways.h"

namespace neuroshard {

/// Makes starts near to a running plan. Borrows all.
struct CarriedStart {
  const Backend& backend;  ///< A CPU's.
  const BundledTask& canonical;
  const WayOptions& ways;
  const MoveTerms& moves;
  const StopCondition& stop;

  /// Plans of the listed task that leave slices where they are. Slices without a place are placed
  /// greedily, cut more or less finely. The plans may lack room. `tables` are those of the listed
  /// task; each has its way. Empty: something finds no place.
  [[nodiscard]] std::vector<Plan> plans(std::span<const CarriedTable> tables) const;

  /// `plan`, of the listed task, with the columns that devices hold; and, if devices are all alike,
  /// the same with these renumbered, so that they keep much of what they hold: groups that share
  /// row blocks, or nodes where these matter, and then smaller ones within each. Those that would
  /// keep most choose first.
  [[nodiscard]] std::vector<Plan> kept(const Plan& plan) const;
};

}  // namespace neuroshard
