#pragma once

#include "neuroshard/plan_file.h"

namespace neuroshard::tools {

/// Three devices; table "user" in two slices of columns, a table without a name in two row blocks.
inline PlanDocument reported_plan() {
  PlanDocument document;
  document.task.devices = 3;
  document.task.memory_bytes = std::int64_t{1} << 30;
  document.task.tables = {{.name = "user", .rows = 1000, .dim = 64, .pooling_factor = 1.0},
                          {.name = "", .rows = 500, .dim = 32, .pooling_factor = 2.0}};
  document.plan.slices = {
      {0, 0, 16, 0, 1000}, {0, 16, 48, 0, 1000}, {1, 0, 32, 0, 100}, {1, 0, 32, 100, 400}};
  document.plan.shards = {{0, 2}, {1}, {3}};
  const auto device = [&](double compute_ms, double forward_ms, SliceMemory memory, int slices) {
    DeviceCost cost{.compute_ms = compute_ms,
                    .forward_ms = forward_ms,
                    .backward_ms = 1.0,
                    .memory_bytes = memory.total_bytes(),
                    .slices = slices,
                    .memory = memory,
                    .reserved_bytes = 2048};
    cost.free_bytes = document.task.memory_bytes - cost.memory_bytes - cost.reserved_bytes;
    document.cost.devices.push_back(cost);
  };
  device(1.0, 1.0, {64'000, 4000, 5}, 2);
  device(3.0, 2.0, {192'000, 8000, 6}, 1);
  device(0.5, 1.5, {51'200, 1600, 7}, 1);
  document.cost.cost_ms = 6.0;
  document.cost.fits_memory = true;
  document.stats.emplace();
  document.stats->backend = "scalar";
  document.stats->search_ms = 1.25;
  document.stats->candidates = 20;
  document.task_name = "reported";
  document.weights = "built-in";
  return document;
}

}  // namespace neuroshard::tools
