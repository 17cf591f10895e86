#include "core/plans/sharding_kinds.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>

#include "core/plans/equal_blocks.h"
#include "core/plans/hot_rows.h"

namespace neuroshard {

static std::vector<ShardingKind> every_kind() {
  return {all_sharding_kinds().begin(), all_sharding_kinds().end()};
}

std::vector<ShardingKind> kinds_of_slices(const Task& task, std::span<const HeldSlice> held) {
  if (task.devices == 1) return every_kind();
  const Table& table = task.tables[static_cast<std::size_t>(held.front().slice.table)];
  bool by_columns = false;
  bool by_rows = false;
  std::map<int, std::set<int>> devices_of_columns;
  for (const auto& [slice, device] : held) {
    by_columns |= slice.dim != table.dim;
    by_rows |= slice.rows != table.rows;
    devices_of_columns[slice.first_column].insert(device);
  }
  std::vector<ShardingKind> kinds;
  if (!by_rows) {
    if (!by_columns) kinds.push_back(ShardingKind::kTable);
    kinds.push_back(ShardingKind::kColumn);
    if (table.rows > 1) return kinds;  // One row is a block of rows, too.
  }
  bool within_nodes = true;
  bool on_parts = true;      // All are on fewer devices than their node has.
  bool on_all_nodes = true;  // All are on as many devices of a node as the rows are enough for.
  for (const auto& [column, devices] : devices_of_columns) {
    const int node = *devices.begin() / task.devices_per_node;
    const int first = node * task.devices_per_node;
    const int of_node = std::min(task.devices_per_node, task.devices - first);
    const auto count = static_cast<int>(devices.size());
    within_nodes &= *devices.rbegin() < first + of_node;
    on_parts &= count < of_node;
    on_all_nodes &= count >= count_of_blocks(table.rows, of_node);
  }
  if (!by_columns) {
    const auto row_wise = static_cast<std::size_t>(count_of_blocks(table.rows, task.devices));
    const std::size_t devices = devices_of_columns.begin()->second.size();
    if (!within_nodes || devices == row_wise) kinds.push_back(ShardingKind::kRow);
    if (within_nodes && on_all_nodes) kinds.push_back(ShardingKind::kTableRow);
  }
  if (by_columns ? !within_nodes || on_all_nodes : within_nodes && on_all_nodes) {
    kinds.push_back(ShardingKind::kGrid);
  }
  if (table.rows > 1 && within_nodes && (on_parts || !on_all_nodes))
    kinds.push_back(ShardingKind::kPartRow);
  return kinds;
}

std::vector<std::vector<HeldSlice>> slices_by_table(const Task& task, const Plan& plan) {
  std::vector<std::vector<HeldSlice>> held(task.tables.size());
  for (std::size_t device = 0; device < plan.shards.size(); ++device) {
    for (const int slice : plan.shards[device]) {
      const TableSlice& one = plan.slices[static_cast<std::size_t>(slice)];
      held[static_cast<std::size_t>(one.table)].push_back({one, static_cast<int>(device)});
    }
  }
  return held;
}

std::vector<std::vector<ShardingKind>> sharding_kinds(const Task& given, const Plan& given_plan) {
  const HotRowsSplit split(given, given_plan);
  const Task& task = split.task();
  const Plan& plan = split.plan();
  std::vector<std::vector<ShardingKind>> kinds;
  for (const std::vector<HeldSlice>& of_table : slices_by_table(task, plan)) {
    if (!of_table.empty()) {
      kinds.push_back(kinds_of_slices(task, of_table));
    } else if (task.devices == 1) {
      kinds.push_back(every_kind());
    } else {
      kinds.push_back({ShardingKind::kReplicate});
    }
  }
  kinds.resize(given.tables.size());
  return kinds;
}

}  // namespace neuroshard
