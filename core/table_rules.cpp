#include "core/table_rules.h"

#include <algorithm>
#include <limits>

#include "core/equal_blocks.h"
#include "core/sharding_kinds.h"
#include "neuroshard/plan.h"

namespace neuroshard {
namespace {

std::string listed(const std::vector<int>& numbers) {
  std::string text;
  for (const int number : numbers) {
    text += text.empty() ? " " : ", ";
    text += std::to_string(number);
  }
  return text;
}

/// Whether all of `count` devices from `first` on may hold slices of a table.
bool allow_all(const TableRules& rules, int first, int count, int devices_per_node) {
  for (int device = first; device < first + count; ++device) {
    if (!rules.allow(device, devices_per_node)) return false;
  }
  return true;
}

/// On one device rows are not cut, unless there is but one.
bool allow_any_node(const Table& table, const Task& task) {
  for (int first = 0; first < task.devices; first += task.devices_per_node) {
    const int count = std::min(task.devices_per_node, task.devices - first);
    if ((count > 1 || table.rows == 1) &&
        allow_all(table.rules, first, count, task.devices_per_node))
      return true;
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
  while (can_split_columns(dim) && dim / 2 >= rules.min_width && halvings.some + 1 < most_slices) {
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
  if (!rules.devices.empty()) add("devices" + listed(rules.devices));
  if (!rules.not_devices.empty()) add("not_devices" + listed(rules.not_devices));
  if (!rules.nodes.empty()) add("nodes" + listed(rules.nodes));
  if (!rules.not_nodes.empty()) add("not_nodes" + listed(rules.not_nodes));
  if (!rules.kinds.empty()) add("kinds " + listed_kinds(rules.kinds));
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
      return allow_blocks(table, task.devices) &&
             allow_all(rules, 0, task.devices, task.devices_per_node);
    case ShardingKind::kTableRow:
    case ShardingKind::kGrid:
      return allow_blocks(table, std::min(task.devices, task.devices_per_node)) &&
             allow_any_node(table, task);
    case ShardingKind::kReplicate:
      return allow_all(rules, 0, task.devices, task.devices_per_node);
  }
  return false;
}

bool may_be_in_columns(const Task& task, const Table& table) {
  return may_be_sharded(task, table, ShardingKind::kTable) ||
         may_be_sharded(task, table, ShardingKind::kColumn);
}

std::vector<bool> allowed_devices(const TableRules& rules, const Task& task) {
  const auto count = static_cast<std::size_t>(task.devices);
  std::vector<bool> allowed(count, rules.devices.empty());
  for (const int device : rules.devices) allowed[static_cast<std::size_t>(device)] = true;
  for (const int device : rules.not_devices) allowed[static_cast<std::size_t>(device)] = false;
  if (rules.nodes.empty() && rules.not_nodes.empty()) return allowed;
  for (std::size_t d = 0; d < count; ++d) {
    allowed[d] = allowed[d] && rules.allow(static_cast<int>(d), task.devices_per_node);
  }
  return allowed;
}

bool any_limits_splits(const Task& task) {
  return std::any_of(task.tables.begin(), task.tables.end(),
                     [](const Table& table) { return table.rules.limit_splits(); });
}

bool any_limits_devices(const Task& task) {
  return std::any_of(task.tables.begin(), task.tables.end(),
                     [](const Table& table) { return table.rules.limit_devices(); });
}

bool any_limits_kinds(const Task& task) {
  return std::any_of(task.tables.begin(), task.tables.end(),
                     [](const Table& table) { return !table.rules.kinds.empty(); });
}

}  // namespace neuroshard
