#pragma once

#include <string>
#include <utility>
#include <vector>

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

/// Nodes of 8 devices, with a part of everything that the first screen of a report shows. Table 0
/// is in row blocks on all devices, table 1 in two slices of columns, table 11 replicated, the
/// others whole; rows of table 2 wait in the host's memory. The second last device decides. The
/// search came across a plan that has table 10 on device 4.
inline PlanDocument reported_plan_of(int devices) {
  constexpr int kTables = 12;
  PlanDocument document = reported_plan();
  Task& task = document.task;
  task.devices = devices;
  task.host = {.bytes = std::int64_t{1} << 30, .link_gb_s = 10.0};
  task.tables.clear();
  for (int i = 0; i < kTables; ++i) {
    task.tables.push_back({.name = "table_" + std::to_string(i),
                           .rows = 1 << 15,
                           .dim = 64,
                           .pooling_factor = i < 2 ? 100.0 : 10.0 + i});
  }
  Plan plan{.slices = {},
            .shards = std::vector<std::vector<int>>(static_cast<std::size_t>(devices)),
            .replicas = {kTables - 1}};
  const auto put = [&](const TableSlice& slice, int device) {
    plan.shards[static_cast<std::size_t>(device)].push_back(static_cast<int>(plan.slices.size()));
    plan.slices.push_back(slice);
  };
  const std::int64_t block = (1 << 15) / devices;
  for (int d = 0; d < devices; ++d) put({0, 0, 64, d * block, block}, d);
  for (int half = 0; half < 2; ++half) put({1, 32 * half, 32, 0, 1 << 15}, 5 * half);
  for (int i = 2; i < kTables - 1; ++i) put({i, 0, 64, 0, 1 << 15}, i % 7);
  document.cost.devices.clear();
  document.cost.hbm_shares.assign(plan.slices.size(), 1.0);
  document.cost.hbm_shares[static_cast<std::size_t>(devices) + 2] = 0.25;
  for (int d = 0; d < devices; ++d) {
    const bool deciding = d == devices - 2;
    DeviceCost& cost =
        document.cost.devices.emplace_back(DeviceCost{.compute_ms = deciding ? 3.5 : 2.5,
                                                      .forward_ms = deciding ? 1.0 : 2.0,
                                                      .backward_ms = 1.0,
                                                      .replicas_ms = 0.25,
                                                      .all_reduce_ms = 0.5,
                                                      .memory_bytes = std::int64_t{1} << 29,
                                                      .slices = 2,
                                                      .memory = {.weight_bytes = 1 << 29}});
    cost.free_bytes = (std::int64_t{1} << 30) - cost.memory_bytes;
  }
  document.cost.devices[2].host_bytes = 3 << 20;
  document.cost.devices[2].fetch_ms = 0.125;
  CostedPlan other{plan, document.cost};
  other.plan.shards[3].pop_back();
  other.plan.shards[4].push_back(plan.shards[3].back());
  other.cost.cost_ms = 6.5;
  document.plan = std::move(plan);
  document.alternatives = {std::move(other)};
  return document;
}

}  // namespace neuroshard::tools
