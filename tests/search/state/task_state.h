#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "neuroshard/task_models.h"
#include "neuroshard/weights.h"
#include "search/canonical_task.h"
#include "search/state/plan_state.h"
#include "search/state/shard_catalog.h"
#include "search/state/state_prices.h"
#include "search/state/table_ways.h"

namespace neuroshard::testing {

/// A plan of a task as the search holds it, with all that prices it by the built-in weights.
struct TaskState {
  /// `listed`: of the task.
  TaskState(const Task& task, const Plan& listed, const WayOptions& options = {})
      : backend(make_cpu_backend(models_for(builtin_weights(), comm_setting(task)))),
        canonical(canonical_task(task)),
        catalog(*backend, canonical),
        ways(catalog, canonical, options),
        state(catalog, ways, canonical.plan_of_task(listed)),
        prices(state) {}
  /// Without any slices.
  explicit TaskState(const Task& task, const WayOptions& options = {})
      : TaskState(task,
                  {.slices = {},
                   .shards = std::vector<std::vector<int>>(static_cast<std::size_t>(task.devices))},
                  options) {}
  TaskState(const TaskState&) = delete;  // Its parts borrow from each other.
  TaskState& operator=(const TaskState&) = delete;

  std::unique_ptr<Backend> backend;
  BundledTask canonical;
  ShardCatalog catalog;
  TableWays ways;
  PlanState state;
  StatePrices prices;
};

}  // namespace neuroshard::testing
