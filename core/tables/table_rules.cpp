#include "core/tables/table_rules.h"

#include <algorithm>
#include <limits>

#include "core/base/enum_names.h"
#include "core/base/message_text.h"
#include "core/plans/equal_blocks.h"
#include "neuroshard/plan.h"

namespace neuroshard {
namespace {

bool allow_all_devices(const TableRules& rules, const Task& task) {
  return !rules.limit_devices() ||
         allowed_set(rules, task).count() == static_cast<std::size_t>(task.devices);
}

/// On one device rows are not cut, unless there is but one.
bool allow_any_node(const Table& table, const Task& task) {
  const auto cuts = [&](int devices) { return devices > 1 || table.rows == 1; };
  if (!table.rules.limit_devices()) return cuts(std::min(task.devices_per_node, task.devices));
  const DeviceSet allowed = allowed_set(table.rules, task);
  for (int first = 0; first < task.devices; first += task.devices_per_node) {
    const int count = std::min(task.devices_per_node, task.devices - first);
    if (cuts(count) && allowed.count_in(first, count) == count) return true;
  }
  return false;
}

/// Whether it may be on two devices of a node that has more.
bool allow_part_of_node(const TableRules& rules, const Task& task) {
  const DeviceSet allowed = allowed_set(rules, task);
  for (int first = 0; first + 2 < task.devices; first += task.devices_per_node) {
    const int count = std::min(task.devices_per_node, task.devices - first);
    if (count > 2 && allowed.count_in(first, count) > 1) return true;
  }
  return false;
}

/// Whether a table may have as many slices as there are blocks of its rows on so many devices.
bool allow_blocks(const Table& table, int devices) {
  const int most = table.rules.no_split ? 1 : table.rules.max_slices;
  return most == 0 || count_of_blocks(table.rows, devices) <= most;
}

}  // namespace

Halvings halvings_of(const Table& table) {
  const TableRules& rules = table.rules;
  if (rules.no_split || !rules.allow(ShardingKind::kColumn)) return {};
  const int most_slices = rules.max_slices > 0 ? rules.max_slices : std::numeric_limits<int>::max();
  Halvings halvings;
  int dim = table.dim;
  while (can_split_columns(dim) && dim / 2 >= least_width(table) &&
         halvings.some + 1 < most_slices) {
    dim /= 2;
    ++halvings.some;
    if (table.dim / dim <= most_slices) ++halvings.all;
  }
  return halvings;
}

std::string listed_rules(const TableRules& rules) {
  std::string text;
  const auto add = [&](const std::string& rule) { text += (text.empty() ? "" : "; ") + rule; };
  if (rules.no_split) add("no_split");
  if (rules.min_width > 0) add("min_width " + std::to_string(rules.min_width));
  if (rules.max_slices > 0) add("max_slices " + std::to_string(rules.max_slices));
  if (!rules.devices.empty()) add("devices " + joined(rules.devices));
  if (!rules.not_devices.empty()) add("not_devices " + joined(rules.not_devices));
  if (!rules.nodes.empty()) add("nodes " + joined(rules.nodes));
  if (!rules.not_nodes.empty()) add("not_nodes " + joined(rules.not_nodes));
  if (!rules.kinds.empty()) add("kinds " + listed_names(rules.kinds));
  if (rules.keep_in_hbm) add("keep_in_hbm");
  if (rules.hbm_share > 0.0) add("hbm_share " + shortest_text(rules.hbm_share));
  return text;
}

std::string rules_text(const TableRules& rules) {
  const std::string text = listed_rules(rules);
  return text.empty() ? text : " (rules: " + text + ")";
}

bool may_be_sharded(const Task& task, const Table& table, ShardingKind kind) {
  const TableRules& rules = table.rules;
  if (task.devices == 1) return true;
  if (!rules.allow(kind)) return false;
  switch (kind) {
    case ShardingKind::kTable:
    case ShardingKind::kColumn:
      return true;
    case ShardingKind::kRow:
      return allow_blocks(table, task.devices) && allow_all_devices(rules, task);
    case ShardingKind::kTableRow:
    case ShardingKind::kGrid:
      return allow_blocks(table, std::min(task.devices, task.devices_per_node)) &&
             allow_any_node(table, task);
    case ShardingKind::kPartRow:
      return table.rows > 1 && allow_blocks(table, 2) && allow_part_of_node(rules, task);
    case ShardingKind::kReplicate:
      return allow_all_devices(rules, task);
  }
  return false;
}

bool may_be_in_columns(const Task& task, const Table& table) {
  return may_be_sharded(task, table, ShardingKind::kTable) ||
         may_be_sharded(task, table, ShardingKind::kColumn);
}

DeviceSet allowed_set(const TableRules& rules, const Task& task) {
  const auto count = static_cast<std::size_t>(task.devices);
  DeviceSet allowed(count, rules.devices.empty());
  for (const int device : rules.devices) allowed.insert(static_cast<std::size_t>(device));
  for (const int device : rules.not_devices) allowed.erase(static_cast<std::size_t>(device));
  if (rules.nodes.empty() && rules.not_nodes.empty()) return allowed;
  const auto per_node = static_cast<std::size_t>(task.devices_per_node);
  DeviceSet nodes((count + per_node - 1) / per_node, rules.nodes.empty());
  for (const int node : rules.nodes) nodes.insert(static_cast<std::size_t>(node));
  for (const int node : rules.not_nodes) nodes.erase(static_cast<std::size_t>(node));
  for (std::size_t first = 0; first < count; first += per_node) {
    if (nodes.contains(first / per_node)) continue;
    for (std::size_t d = first; d < std::min(first + per_node, count); ++d) allowed.erase(d);
  }
  return allowed;
}

bool any_limits_splits(const Task& task) {
  return std::ranges::any_of(task.tables, &TableRules::limit_splits, &Table::rules);
}

bool any_limits_devices(const Task& task) {
  return std::ranges::any_of(task.tables, &TableRules::limit_devices, &Table::rules);
}

bool any_limits_kinds(const Task& task) {
  return std::ranges::any_of(
      task.tables, [](const TableRules& rules) { return !rules.kinds.empty(); }, &Table::rules);
}

}  // namespace neuroshard
