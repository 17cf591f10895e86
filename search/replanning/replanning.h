#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "core/base/thread_team.h"
#include "neuroshard/backend.h"
#include "neuroshard/replan.h"
#include "neuroshard/search_options.h"
#include "neuroshard/stop_condition.h"
#include "search/state/table_ways.h"

namespace neuroshard {

/// A new plan for a running job is made with this. Borrows all.
struct ReplanOrder {
  const Task& task;  ///< Valid, with the rules that its groups imply.
  const RunningPlan& running;
  /// [tables of `task`]: running_tables(), unless more is known.
  const std::vector<std::optional<std::size_t>>& before;
  const PlanCost& running_cost;  ///< The running plan's, for its own task.
  const ReplanRequest& request;  ///< Valid.
  WayOptions ways;               ///< For tables that do not stay as they run.
  Effort effort;
  const StopCondition& stop;
  ThreadTeam* team;  ///< Null: none.
  /// Plans the task, with its tables in any order, as if nothing was running.
  std::function<PlanResult(const Task&, Effort)> plan_anew;
};

/// Starts from plans that leave slices where they are and, where the budget may allow as much, from
/// a plan made anew whose devices are numbered so that much stays. Improves them by the search of
/// plans, with moves as a limit and a part of the cost. Returns the plan with the lowest cost, or
/// cost and price of moves. More effort begins with the steps of less effort. Writes all of the
/// result but the time. Throws Error as RunningHolders does, and, if there is no plan, where a
/// larger budget would do. Without any plan the reason is that of a plan made anew.
[[nodiscard]] ReplanResult replan_near(const Backend& backend, const ReplanOrder& order);

}  // namespace neuroshard
