#pragma once

#include <string>

#include "neuroshard/planner.h"
#include "neuroshard/weights.h"
#include "random_tasks.h"

namespace neuroshard::testing {

/// One of small models, which has columns alone.
inline Planner small_planner() {
  return Planner(random_models(4, {.any_batch = true}), {.effort = Effort::kFast, .threads = 1});
}

/// One that may cut tables by rows anew.
inline Planner planner_of_any_kinds() {
  return Planner(builtin_weights(), {.effort = Effort::kFast, .threads = 1});
}

/// Four tables on three devices; tables 1 and 3 are replicated.
inline RunningPlan running_job() {
  RunningPlan running;
  running.task.devices = 3;
  running.task.memory_bytes = 1 << 20;
  for (int i = 0; i < 4; ++i) {
    Table table{
        .name = "t" + std::to_string(i), .rows = 100 * (i + 1), .dim = 8, .pooling_factor = 2.0};
    table.access_histogram[0] = 1.0;
    running.task.tables.push_back(table);
  }
  running.plan = {.slices = {{0, 0, 8, 0, 100}, {2, 0, 4, 0, 300}, {2, 4, 4, 0, 300}},
                  .shards = {{0}, {1}, {2}},
                  .replicas = {1, 3}};
  return running;
}

}  // namespace neuroshard::testing
