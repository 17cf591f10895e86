#include "search/replanning/running_blocks.h"

#include <algorithm>
#include <cstddef>

#include "core/plans/equal_blocks.h"
#include "search/state/even_blocks.h"

namespace neuroshard {
namespace {

using BlocksOfTables = std::map<std::uint32_t, std::vector<ColumnsInBlocks>>;

/// Tables all of whose columns are in equal blocks on groups of `group` devices, in their order.
BlocksOfTables blocks_on_groups(const RunningPlan& running, int group) {
  struct Seen {
    ColumnsInBlocks columns;
    std::int64_t rows = 0;  ///< Of all blocks so far.
  };
  std::map<std::uint32_t, std::vector<Seen>> seen;
  std::set<std::uint32_t> others;
  const auto by_device = slices_by_device(running.plan);
  for (std::size_t device = 0; device < by_device.size(); ++device) {
    const int node = static_cast<int>(device) / group;
    const int place = static_cast<int>(device) % group;
    for (const TableSlice& slice : by_device[device]) {
      const auto t = static_cast<std::uint32_t>(slice.table);
      const std::int64_t rows = running.task.tables[t].rows;
      const std::int64_t of_block = rows_of_block(rows, group);
      auto same = std::ranges::find(seen[t], slice.first_column,
                                    [](const Seen& one) { return one.columns.first_column; });
      if (same == seen[t].end()) {
        same =
            seen[t].insert(seen[t].end(), Seen{.columns = {slice.first_column, slice.dim, node}});
      }
      same->rows += slice.rows;
      const bool even = slice.first_row == place * of_block &&
                        slice.rows == std::min(of_block, rows - slice.first_row);
      if (!even || same->columns.node != node || same->columns.dim != slice.dim ||
          !is_row_block(running.task, slice)) {
        others.insert(t);
      }
    }
  }
  BlocksOfTables blocks;
  for (const auto& [t, of_table] : seen) {
    const std::int64_t rows = running.task.tables[t].rows;
    const bool whole =
        std::ranges::all_of(of_table, [&](const Seen& one) { return one.rows == rows; });
    if (!whole || others.contains(t)) continue;
    for (const Seen& one : of_table) blocks[t].push_back(one.columns);
  }
  return blocks;
}

}  // namespace

RunningBlocks running_blocks(const RunningPlan& running) {
  RunningBlocks found;
  for (const auto& [t, columns] : blocks_on_groups(running, running.task.devices)) {
    if (columns.size() == 1) found.row_wise.insert(t);
  }
  const std::vector<int> groups = block_groups(running.task);
  if (groups.size() < 2) return found;
  found.on_nodes = blocks_on_groups(running, groups.back());
  // Of few rows both may be so.
  for (const std::uint32_t t : found.row_wise) found.on_nodes.erase(t);
  return found;
}

}  // namespace neuroshard
