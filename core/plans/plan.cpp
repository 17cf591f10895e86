#include "neuroshard/plan.h"

#include <algorithm>
#include <cmath>

#include "core/plans/hot_rows.h"
#include "core/plans/replicas.h"
#include "core/plans/slice_tables.h"
#include "core/plans/touched_gradients.h"
#include "neuroshard/error.h"
#include "neuroshard/plan_check.h"

namespace neuroshard {
namespace {

/// More than any device has. Gathered gradients are not bounded by the size of the task, and sums
/// of them stay within 64 bits by this.
constexpr double kMostBytes = 2.0 * static_cast<double>(kMaxTaskBytes);

}  // namespace

std::vector<TableSlice> whole_tables(const Task& task) {
  std::vector<TableSlice> slices;
  slices.reserve(task.tables.size());
  for (const Table& table : task.tables) {
    slices.push_back({static_cast<int>(slices.size()), 0, table.dim, 0, table.rows});
  }
  return slices;
}

Table table_of(const Task& task, const TableSlice& slice) { return SliceTables(task).of(slice); }

std::int64_t slice_bytes(const Task& task, const TableSlice& slice) {
  return sized_table_of(task, slice).size_bytes();
}

SliceMemory replica_memory(const Task& task, int table) {
  return replica_memory(task, table, TouchedGradients(task));
}

SliceMemory replica_memory(const Task& task, int table, const TouchedGradients& touched) {
  const Table& whole = task.tables[static_cast<std::size_t>(table)];
  Table part = whole;
  part.rows = rows_of_replica(whole);
  part.pooling_factor /= whole.replica_devices;
  // A device's part of the batch, rounded up; or its node's.
  part.memory.batch_size =
      (whole.memory.batch_size + task.devices - 1) / task.devices * whole.replica_devices;
  SliceMemory memory = slice_memory(part, part.dim);
  if (whole.replica_gradients == ReplicaGradients::kDense) {
    memory.buffer_bytes +=
        part.rows * whole.dim * weight_bytes(whole.memory.weight_type).per_column;
  } else {
    memory.buffer_bytes +=
        static_cast<std::int64_t>(std::ceil(std::min(touched.gathered_bytes(whole), kMostBytes)));
  }
  return memory;
}

SliceMemory replicas_memory(const Task& given, const Plan& given_plan) {
  const HotRowsSplit split(given, given_plan);
  const Task& task = split.task();
  const Plan& plan = split.plan();
  SliceMemory memory;
  const TouchedGradients touched(task);
  for (const int table : plan.replicas) {
    memory += replica_memory(task, table, touched);
    memory.buffer_bytes = std::min(memory.buffer_bytes, static_cast<std::int64_t>(kMostBytes));
  }
  return memory;
}

bool is_row_block(const Task& task, const TableSlice& slice) {
  return slice.rows != task.tables[static_cast<std::size_t>(slice.table)].rows;
}

bool has_row_blocks(const Task& given, const Plan& plan) {
  const HotRowsSplit split(given, plan);
  const Task& task = split.task();
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
