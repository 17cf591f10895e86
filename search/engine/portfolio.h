#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "core/base/thread_team.h"
#include "neuroshard/backend.h"
#include "neuroshard/plan.h"
#include "neuroshard/plan_result.h"
#include "neuroshard/search_options.h"
#include "neuroshard/stop_condition.h"
#include "search/state/moved_bytes.h"
#include "search/state/table_ways.h"

namespace neuroshard {

/// Improves plans by chains that begin with them. The result does not depend on
/// who runs the chains, and more effort begins with the steps of less effort.
struct Portfolio {
  const Backend& backend;  ///< A CPU's.
  const Task& task;        ///< Valid, with the rules that its groups imply.
  WayOptions ways;
  Effort effort = Effort::kDefault;
  const StopCondition& stop;
  bool alternatives = false;          ///< Plans that are dearer than others are wanted, too.
  ThreadTeam::Lease* team = nullptr;  ///< Threads for the chains; null: the caller's alone.
  /// From the plan that runs; null: there is none. Plans then have the columns that devices hold.
  const MoveTerms* moves = nullptr;
  /// [tables], or none: equal tables of another rank are told apart.
  std::span<const std::uint64_t> ranks{};

  using Consider = std::function<void(Plan)>;

  /// Whether tables take so much of all room that few neighbours of a plan fit.
  [[nodiscard]] bool is_tight() const;

  /// From some plans, the first ones for the first chains. Gives each plan that seems to be the
  /// cheapest so far to `consider`. The work goes to `stats`.
  void improve(std::span<const Plan> starts, const Consider& consider, SearchStats& stats) const;

  /// Whether there is time for a chain, and anything for it to do.
  [[nodiscard]] bool in_time_to_begin() const;
  /// With time kept for a plan of so many slices.
  [[nodiscard]] StopCondition stop_with(std::size_t slices) const;
};

}  // namespace neuroshard
