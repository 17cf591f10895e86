#include "search/state/ways.h"

#include <array>
#include <limits>

#include "core/plans/equal_blocks.h"
#include "core/tables/table_rules.h"
#include "search/state/even_blocks.h"

namespace neuroshard {
namespace {

int most_slices_by_rules(const Table& table) {
  return table.rules.max_slices > 0 ? table.rules.max_slices : std::numeric_limits<int>::max();
}

int most_slices_on_devices(const Task& task, const Table& table, int) {
  if (!may_be_in_columns(task, table)) return 0;
  const bool whole = table.rules.no_split || !table.rules.allow(ShardingKind::kColumn);
  return whole ? 1 : most_slices_by_rules(table);
}

constexpr std::array kWayForms = {
    WayForm{.group = [](const Task&) { return 1; },
            .most_slices = most_slices_on_devices,
            .drawn = 1.0},
    WayForm{.group =
                [](const Task& task) {
                  return block_groups(task).size() > 1 ? task.devices_per_node : 0;
                },
            .most_slices = most_slices_in_blocks,
            .drawn = 0.2},
    WayForm{.group = [](const Task& task) { return task.devices > 1 ? task.devices : 0; },
            .most_slices = [](const Task& task, const Table& table,
                              int group) { return may_be_cut(task, table, group) ? 1 : 0; },
            .drawn = 0.2}};

}  // namespace

std::span<const WayForm> way_forms() { return kWayForms; }

int most_slices_in_blocks(const Task& task, const Table& table, int group) {
  if (!may_be_cut(task, table, group)) return 0;
  const bool grid = !table.rules.no_split && may_be_sharded(task, table, ShardingKind::kGrid);
  return grid ? most_slices_by_rules(table) / count_of_blocks(table.rows, group) : 1;
}

}  // namespace neuroshard
