#include "search/state/even_blocks.h"

#include <algorithm>

#include "core/tables/table_rules.h"

namespace neuroshard {

std::vector<int> block_groups(const Task& task) {
  const int node = task.devices_per_node;
  if (node == 1 || node >= task.devices || task.devices % node != 0) return {task.devices};
  return {task.devices, node};
}

bool may_be_cut(const Task& task, const Table& table, int group) {
  const auto may_be = [&](ShardingKind kind) { return may_be_sharded(task, table, kind); };
  const bool within_node = group <= task.devices_per_node &&
                           (may_be(ShardingKind::kTableRow) || may_be(ShardingKind::kGrid));
  return within_node || (group == task.devices && may_be(ShardingKind::kRow));
}

bool may_be_in_blocks(const Task& task, const Table& table) {
  return std::ranges::any_of(block_groups(task),
                             [&](int group) { return may_be_cut(task, table, group); });
}

}  // namespace neuroshard
