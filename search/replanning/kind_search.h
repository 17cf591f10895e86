#pragma once

#include <cstdint>
#include <functional>

#include "neuroshard/backend.h"
#include "neuroshard/replan.h"
#include "neuroshard/search_options.h"
#include "neuroshard/stop_condition.h"
#include "search/replanning/kept_tables.h"
#include "search/replanning/replanning.h"

namespace neuroshard {

/// What is asked of a plan for the tables that are slices of columns, beside others.
struct RestRequest {
  ReplanRequest request;
  std::int64_t moved_beside = 0;  ///< As ReplanOrder's.
  Effort effort = Effort::kFast;
};

/// What a new plan for a running job is made with, whatever kinds of sharding it has. Borrows all.
struct KindOrder {
  const Task& task;  ///< Valid.
  const RunningPlan& running;
  const ReplanRequest& request;  ///< Valid.
  Effort effort;
  const StopCondition& stop;
  bool replicas;  ///< Whether tables may be replicated and cut by rows anew.
  /// Plans KeptTables::rest; a Replanned that replan_task() makes of it.
  std::function<Replanned(const KeptTables&, const RestRequest&)> replan_rest;
  /// Plans a task as if nothing was running.
  std::function<PlanResult(const Task&, Effort)> plan_anew;
};

/// Plans with tables sharded as they run, or as near to that as there is a plan; then, where the
/// planner may, with others replicated or row-wise, as a plan that is made anew has them, as far as
/// the moves allow. The plan with the lowest cost, or cost and price of moves. Writes all of the
/// result but `running_cost` and the time. Throws Error as keep_tables() and replan_task() do, and,
/// if there is no plan, where a larger budget would do. Without any plan the reason is that of a
/// plan made anew.
[[nodiscard]] ReplanResult replan_kinds(const Backend& backend, const KindOrder& order);

}  // namespace neuroshard
