#include "neuroshard/plan.h"

#include <algorithm>
#include <cmath>

#include "neuroshard/error.h"
#include "neuroshard/histogram_scale.h"
#include "neuroshard/plan_check.h"

namespace neuroshard {

std::vector<TableSlice> whole_tables(const Task& task) {
  std::vector<TableSlice> slices;
  slices.reserve(task.tables.size());
  for (const Table& table : task.tables) {
    slices.push_back({static_cast<int>(slices.size()), 0, table.dim, 0, table.rows});
  }
  return slices;
}

namespace {

/// Shares this near to that of the rows are even ones, rounded.
constexpr double kEven = 1e-9;

/// All of table_of() but the access histogram, which memory does not depend on.
Table sized_table_of(const Table& whole, const TableSlice& slice) {
  // With all rows the share is 1, and the product what it was, to the last bit.
  return {.name = {},
          .rows = slice.rows,
          .dim = slice.dim,
          .pooling_factor = whole.pooling_factor * lookup_share(whole, slice.first_row, slice.rows),
          .memory = whole.memory};
}

}  // namespace

Table table_of(const Task& task, const TableSlice& slice) {
  const Table& whole = task.tables[static_cast<std::size_t>(slice.table)];
  Table table = sized_table_of(whole, slice);
  table.rules = whole.rules;
  table.access_histogram = whole.access_histogram;
  if (whole.row_shares.empty()) return table;
  const double times = lookup_share(whole, slice.first_row, slice.rows) /
                       (static_cast<double>(slice.rows) / static_cast<double>(whole.rows));
  if (times == 0.0) {
    table.access_histogram = {};
  } else if (std::abs(times - 1.0) > kEven) {
    const HistogramScale of_more_samples(times * static_cast<double>(kDefaultBatchSize));
    table.access_histogram = of_more_samples(whole);
  }
  return table;
}

std::int64_t slice_bytes(const Task& task, const TableSlice& slice) {
  return sized_table_of(task.tables[static_cast<std::size_t>(slice.table)], slice).size_bytes();
}

SliceMemory replica_memory(const Task& task, int table) {
  const Table& whole = task.tables[static_cast<std::size_t>(table)];
  Table part = whole;
  // A device's part of the batch, rounded up.
  part.memory.batch_size = (whole.memory.batch_size + task.devices - 1) / task.devices;
  SliceMemory memory = slice_memory(part, part.dim);
  memory.buffer_bytes += whole.rows * whole.dim * weight_bytes(whole.memory.weight_type).per_column;
  return memory;
}

SliceMemory replicas_memory(const Task& task, const Plan& plan) {
  SliceMemory memory;
  for (const int table : plan.replicas) memory += replica_memory(task, table);
  return memory;
}

bool is_row_block(const Task& task, const TableSlice& slice) {
  return slice.rows != task.tables[static_cast<std::size_t>(slice.table)].rows;
}

bool has_row_blocks(const Task& task, const Plan& plan) {
  return std::ranges::any_of(plan.slices,
                             [&](const TableSlice& slice) { return is_row_block(task, slice); });
}

std::vector<std::vector<TableSlice>> slices_by_device(const Plan& plan) {
  std::vector<std::vector<TableSlice>> by_device;
  by_device.reserve(plan.shards.size());
  for (const std::vector<int>& shard : plan.shards) {
    std::vector<TableSlice>& held = by_device.emplace_back();
    held.reserve(shard.size());
    for (const int slice : shard) held.push_back(plan.slices[static_cast<std::size_t>(slice)]);
  }
  return by_device;
}

void validate(const Plan& plan, const Task& task) {
  for (const PlanProblem& problem : check_plan(plan, task)) {
    if (problem.kind == PlanProblem::Kind::kMemory || problem.kind == PlanProblem::Kind::kRule) {
      continue;
    }
    throw Error("plan: " + problem.message());
  }
}

}  // namespace neuroshard
