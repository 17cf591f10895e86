#include "search/state/even_blocks.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <utility>

#include "core/plans/equal_blocks.h"
#include "core/plans/slice_prices.h"
#include "core/tables/table_rules.h"

namespace neuroshard {
namespace {

/// Rules of a table as they hold for its blocks on a group: all slices of columns are in blocks,
/// and nodes take the place of devices.
TableRules rules_of_blocks(const Task& task, const Table& table, int group) {
  const TableRules& rules = table.rules;
  TableRules of_blocks{.no_split = rules.no_split || !rules.allow(ShardingKind::kGrid),
                       .min_width = rules.min_width,
                       .max_slices = rules.max_slices / count_of_blocks(table.rows, group)};
  if (!rules.limit_devices()) return of_blocks;
  const std::vector<bool> allowed = allowed_devices(rules, task);
  for (int first = 0; first < task.devices; first += group) {
    if (std::all_of(allowed.begin() + first, allowed.begin() + first + group, std::identity{})) {
      of_blocks.devices.push_back(first / group);
    }
  }
  return of_blocks;
}

}  // namespace

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

Table busiest_block(const Task& task, std::uint32_t table, int group) {
  const Table& whole = task.tables[table];
  const std::int64_t most_rows = rows_of_block(whole.rows, group);
  TableSlice block{.table = static_cast<int>(table),
                   .first_column = 0,
                   .dim = whole.dim,
                   .first_row = 0,
                   .rows = most_rows};
  TableSlice busiest = block;
  double most_lookups = -1.0;
  for (; !whole.row_shares.empty() && block.first_row < whole.rows; block.first_row += most_rows) {
    block.rows = std::min(most_rows, whole.rows - block.first_row);
    const double lookups = lookup_share(whole, block.first_row, block.rows);
    if (lookups <= most_lookups) continue;
    most_lookups = lookups;
    busiest = block;
  }
  Table busy = table_of(task, busiest);
  busy.rows = most_rows;
  busy.rules = rules_of_blocks(task, whole, group);
  return busy;
}

Plan plan_of_one_group(const Task& task) {
  Plan plan{.slices = whole_tables(task), .shards = {std::vector<int>(task.tables.size())}};
  std::iota(plan.shards.front().begin(), plan.shards.front().end(), 0);
  return plan;
}

void add_blocks(Plan& plan, const Task& task, TableSlice slice, int first_device, int group) {
  const std::int64_t rows = task.tables[static_cast<std::size_t>(slice.table)].rows;
  const std::int64_t of_block = rows_of_block(rows, group);
  for (int i = 0; i < group && i * of_block < rows; ++i) {
    slice.first_row = i * of_block;
    slice.rows = std::min(of_block, rows - slice.first_row);
    const std::size_t device = static_cast<std::size_t>(first_device) + static_cast<std::size_t>(i);
    plan.shards[device].push_back(static_cast<int>(plan.slices.size()));
    plan.slices.push_back(slice);
  }
}

}  // namespace neuroshard
