#include "search/state/ways.h"

#include <algorithm>
#include <array>
#include <limits>

#include "core/plans/equal_blocks.h"
#include "core/tables/table_rules.h"

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

bool is_part_of_node(const Task& task, int group) {
  return group < std::min(task.devices_per_node, task.devices);
}

/// Whether the rules of `table` let it be cut to blocks on groups of `group` devices.
bool may_be_cut(const Task& task, const Table& table, int group) {
  const auto may_be = [&](ShardingKind kind) { return may_be_sharded(task, table, kind); };
  if (is_part_of_node(task, group)) return may_be(ShardingKind::kPartRow);
  const bool within_node = group <= task.devices_per_node &&
                           (may_be(ShardingKind::kTableRow) || may_be(ShardingKind::kGrid));
  return within_node || (group == task.devices && may_be(ShardingKind::kRow));
}

/// The devices of a node, if there are several nodes and they divide the devices.
int devices_of_node(const Task& task) {
  const int node = task.devices_per_node;
  return node == 1 || node >= task.devices || task.devices % node != 0 ? 0 : node;
}

int all_devices(const Task& task) { return task.devices > 1 ? task.devices : 0; }

int most_slices_on_all(const Task& task, const Table& table, int group) {
  return may_be_cut(task, table, group) ? 1 : 0;
}

/// So many devices, if they are a part of a node, and there are two such parts at least, side by
/// side from the first device on. Some devices of the last node may be in none.
template <int kDevices>
int part_of_node(const Task& task) {
  const bool within_nodes =
      task.devices <= task.devices_per_node || task.devices_per_node % kDevices == 0;
  const bool has_two = task.devices >= 2 * kDevices;
  return within_nodes && has_two && is_part_of_node(task, kDevices) ? kDevices : 0;
}

/// A way of a table that is deduplicated: where that may be, as `group` and `most_slices` say.
template <int (*group)(const Task&), int (*most_slices)(const Task&, const Table&, int)>
constexpr WayForm once(double drawn) {
  return {.group =
              [](const Task& task) {
                return task.exchange.deduplicate_by_table && task.devices > 1 ? group(task) : 0;
              },
          .most_slices =
              [](const Task& task, const Table& table, int of_group) {
                return may_be_deduplicated(task, table) ? most_slices(task, table, of_group) : 0;
              },
          .drawn = drawn,
          .deduplicated = true};
}

int one_device(const Task&) { return 1; }

constexpr std::array kWayForms = {
    WayForm{.group = one_device, .most_slices = most_slices_on_devices, .drawn = 1.0},
    WayForm{.group = part_of_node<2>,
            .most_slices = most_slices_in_blocks,
            .drawn = 0.1,
            .of_part = true},
    WayForm{.group = part_of_node<4>,
            .most_slices = most_slices_in_blocks,
            .drawn = 0.1,
            .of_part = true},
    WayForm{.group = part_of_node<8>,
            .most_slices = most_slices_in_blocks,
            .drawn = 0.05,
            .of_part = true},
    WayForm{.group = devices_of_node, .most_slices = most_slices_in_blocks, .drawn = 0.1},
    WayForm{.group = all_devices, .most_slices = most_slices_on_all, .drawn = 0.2},
    once<one_device, most_slices_on_devices>(0.2),
    once<devices_of_node, most_slices_in_blocks>(0.2),
    once<all_devices, most_slices_on_all>(0.2)};

}  // namespace

std::span<const WayForm> way_forms() { return kWayForms; }

int devices_of_slice(const Task& task, Way way) {
  return kWayForms[static_cast<std::size_t>(way)].group(task);
}

int most_slices_of(const Task& task, const Table& table, Way way) {
  const int group = devices_of_slice(task, way);
  return group == 0 ? 0 : kWayForms[static_cast<std::size_t>(way)].most_slices(task, table, group);
}

bool may_be_deduplicated(const Task& task, const Table& table) {
  const bool already = table.once_in_samples > 0.0;
  return task.exchange.deduplicate_by_table && !already && table.pooling_factor > 0.0 &&
         table.pooling_factor * table.dim <= kMostOutputColumns;
}

bool limits_places(const Task& task, const Table& table) {
  const bool last_is_not_full =
      task.devices > task.devices_per_node && task.devices % task.devices_per_node != 0;
  return table.rules.limit_devices() ||
         (last_is_not_full && !table.rules.allow(ShardingKind::kGrid));
}

bool may_be_at(const Task& task, const Table& table, const DeviceSet& allowed, int group,
               int place) {
  const int first = place * group;
  const bool is_last_node =
      group > 1 && first + group == task.devices && first > 0 && first % task.devices_per_node == 0;
  if (is_last_node && is_part_of_node(task, group) && !table.rules.allow(ShardingKind::kGrid)) {
    return false;
  }
  return allowed.count_in(first, group) == group;
}

bool is_of_part(Way way) {
  return way != Way::kReplica && kWayForms[static_cast<std::size_t>(way)].of_part;
}

bool may_be_in_blocks(const Task& task, const Table& table, bool parts) {
  return std::ranges::any_of(kWayForms, [&](const WayForm& form) {
    const int group = form.group(task);
    return group > 1 && (parts || !form.of_part) && form.most_slices(task, table, group) > 0;
  });
}

int most_slices_in_blocks(const Task& task, const Table& table, int group) {
  if (!may_be_cut(task, table, group)) return 0;
  const bool grid = is_part_of_node(task, group) ||
                    (!table.rules.no_split && may_be_sharded(task, table, ShardingKind::kGrid));
  return grid ? most_slices_by_rules(table) / count_of_blocks(table.rows, group) : 1;
}

}  // namespace neuroshard
