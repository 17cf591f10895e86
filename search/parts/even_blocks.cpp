#include "search/parts/even_blocks.h"

#include <algorithm>
#include <cstddef>

namespace neuroshard {
namespace {

std::int64_t rows_of_block(std::int64_t rows, int blocks) { return (rows + blocks - 1) / blocks; }

}  // namespace

Table first_block(const Task& task, std::uint32_t table, int blocks) {
  const Table& whole = task.tables[table];
  return table_of(task, {.table = static_cast<int>(table),
                         .first_column = 0,
                         .dim = whole.dim,
                         .first_row = 0,
                         .rows = rows_of_block(whole.rows, blocks)});
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
