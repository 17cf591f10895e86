#include "search/parts/even_blocks.h"

#include <algorithm>
#include <cstddef>

#include "core/equal_blocks.h"

namespace neuroshard {

Table busiest_block(const Task& task, std::uint32_t table, int blocks) {
  const Table& whole = task.tables[table];
  const std::int64_t most_rows = rows_of_block(whole.rows, blocks);
  TableSlice block{.table = static_cast<int>(table),
                   .first_column = 0,
                   .dim = whole.dim,
                   .first_row = 0,
                   .rows = most_rows};
  if (whole.row_shares.empty()) return table_of(task, block);
  TableSlice busiest = block;
  double most_lookups = -1.0;
  for (; block.first_row < whole.rows; block.first_row += most_rows) {
    block.rows = std::min(most_rows, whole.rows - block.first_row);
    const double lookups = lookup_share(whole, block.first_row, block.rows);
    if (lookups <= most_lookups) continue;
    most_lookups = lookups;
    busiest = block;
  }
  Table busy = table_of(task, busiest);
  busy.rows = most_rows;
  return busy;
}

bool may_be_cut_by_rows(const Table& table, int group, int devices) {
  const TableRules& rules = table.rules;
  if (rules.no_split || rules.limit_devices()) return false;
  // One block on each device; but how many slices nodes make of a table is seen too late.
  return rules.max_slices == 0 || (group == devices && rules.max_slices >= group);
}

void add_blocks(Plan& plan, const Task& task, const TableSlice& slice, int first_device,
                int group) {
  const std::int64_t rows = task.tables[static_cast<std::size_t>(slice.table)].rows;
  const std::int64_t of_block = rows_of_block(rows, group);
  TableSlice block = slice;
  for (int i = 0; i < group && i * of_block < rows; ++i) {
    block.first_row = i * of_block;
    block.rows = std::min(of_block, rows - block.first_row);
    plan.shards[static_cast<std::size_t>(first_device + i)].push_back(
        static_cast<int>(plan.slices.size()));
    plan.slices.push_back(block);
  }
}

}  // namespace neuroshard
