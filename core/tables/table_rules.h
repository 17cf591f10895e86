#pragma once

#include <algorithm>
#include <string>

#include "core/base/device_set.h"
#include "neuroshard/task.h"

namespace neuroshard {

/// Columns that each slice of `table` has at least by its rule min_width, which may ask for more
/// than the table has: such a table stays whole.
[[nodiscard]] inline int least_width(const Table& table) {
  return std::min(table.rules.min_width, table.dim);
}

/// How often slices of `table` may be halved, counting from the whole table.
struct Halvings {
  int some = 0;  ///< One of its slices, the others less often.
  int all = 0;   ///< All of them alike: what `max_slices` leaves of it.
};
[[nodiscard]] Halvings halvings_of(const Table& table);

/// Columns of the narrowest slice that halving and rules allow.
[[nodiscard]] inline int narrowest_dim(const Table& table) {
  return table.dim >> halvings_of(table).some;
}

/// Columns of the widest slice once halving has made that as narrow as rules allow.
[[nodiscard]] inline int least_widest_dim(const Table& table) {
  return table.dim >> halvings_of(table).all;
}

/// The rules if there are any, for messages: " (rules: min_width 16; devices 0, 1)"; else nothing.
[[nodiscard]] std::string rules_text(const TableRules& rules);

/// Lists the rules without the frame: "min_width 16; devices 0, 1".
[[nodiscard]] std::string listed_rules(const TableRules& rules);

/// Devices of the task that may hold slices of a table with these rules.
[[nodiscard]] DeviceSet allowed_set(const TableRules& rules, const Task& task);

/// Whether the rules of `table`, all of them together, let it be sharded so on the devices of
/// `task`. Does not look at memory.
[[nodiscard]] bool may_be_sharded(const Task& task, const Table& table, ShardingKind kind);

/// Whether they let it be one slice, or slices of columns.
[[nodiscard]] bool may_be_in_columns(const Task& task, const Table& table);

/// Whether any table has a rule of that kind.
[[nodiscard]] bool any_limits_splits(const Task& task);
[[nodiscard]] bool any_limits_devices(const Task& task);
[[nodiscard]] bool any_limits_kinds(const Task& task);

}  // namespace neuroshard
