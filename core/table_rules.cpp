#include "core/table_rules.h"

#include <algorithm>
#include <limits>

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

}  // namespace

Halvings halvings_of(const Table& table) {
  const TableRules& rules = table.rules;
  if (rules.no_split) return {};
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

std::string rules_text(const TableRules& rules) {
  std::string text;
  const auto add = [&](const std::string& rule) { text += (text.empty() ? "" : "; ") + rule; };
  if (rules.no_split) add("no_split");
  if (rules.min_width > 0) add("min_width " + std::to_string(rules.min_width));
  if (rules.max_slices > 0) add("max_slices " + std::to_string(rules.max_slices));
  if (!rules.devices.empty()) add("devices" + listed(rules.devices));
  if (!rules.not_devices.empty()) add("not_devices" + listed(rules.not_devices));
  return text.empty() ? text : " (rules: " + text + ")";
}

std::vector<bool> allowed_devices(const TableRules& rules, int devices) {
  std::vector<bool> allowed(static_cast<std::size_t>(devices), rules.devices.empty());
  for (const int device : rules.devices) allowed[static_cast<std::size_t>(device)] = true;
  for (const int device : rules.not_devices) allowed[static_cast<std::size_t>(device)] = false;
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

}  // namespace neuroshard
