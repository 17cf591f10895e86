#pragma once

#include <cstdint>
#include <utility>

#include "core/plans/equal_blocks.h"
#include "core/tables/row_popularity.h"
#include "neuroshard/plan.h"
#include "neuroshard/task.h"
#include "neuroshard/zipf_histogram.h"

namespace neuroshard::testing {

/// Four sequences, of which little is sent by popular rows, and two pooled tables.
inline Task popular_task(int devices) {
  Task task;
  for (int i = 0; i < 6; ++i) {
    Table table{.rows = 2'000'000, .dim = 128, .pooling_factor = i < 4 ? 60.0 : 10.0};
    table.access_histogram = zipf_histogram(table.rows, table.pooling_factor, 1.2);
    table.popularity = zipf_popularity(table.rows, 1.2);
    table.pooling = i < 4 ? Pooling::kNone : Pooling::kSum;
    task.tables.push_back(table);
  }
  task.devices = devices;
  task.memory_bytes = std::int64_t{40} << 30;
  task.exchange.hot_rows = true;
  return task;
}

/// Each table row-wise but for these rows.
inline Plan row_wise_plan(const Task& task, std::int64_t hot, std::int64_t on_nodes) {
  Plan plan;
  plan.shards.resize(static_cast<std::size_t>(task.devices));
  for (int t = 0; std::cmp_less(t, task.tables.size()); ++t) {
    const Table& table = task.tables[static_cast<std::size_t>(t)];
    plan.hot_rows.push_back({t, hot, on_nodes});
    for_each_block({t, 0, table.dim, 0, table.rows - hot - on_nodes}, 0, task.devices,
                   [&](const TableSlice& block, int device) {
                     plan.shards[static_cast<std::size_t>(device)].push_back(
                         static_cast<int>(plan.slices.size()));
                     plan.slices.push_back(block);
                   });
  }
  return plan;
}

}  // namespace neuroshard::testing
