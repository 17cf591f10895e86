#pragma once

#include <vector>

#include "neuroshard/sharding_kind.h"

#pragma GCC visibility push(default)
namespace neuroshard {

/// What every plan must keep to for one table. As it is by default, it rules out nothing.
struct TableRules {
  bool no_split = false;  ///< The table is one slice.
  int min_width = 0;      ///< Columns that each slice has at least; 0: no rule.
  int max_slices = 0;     ///< Slices that the table has at most; 0: no rule.
  /// Devices that may hold slices of it, a set; empty: all. One alone pins the table.
  std::vector<int> devices{};
  std::vector<int> not_devices{};  ///< Devices that may not, a set.
  /// In which ways it may be sharded, a set; empty: in all. sharding_kinds() says in which a plan
  /// has it: one of them must be here.
  std::vector<ShardingKind> kinds{};

  [[nodiscard]] bool limit_splits() const {
    return no_split || min_width > 0 || max_slices > 0 || !allow(ShardingKind::kColumn);
  }
  [[nodiscard]] bool limit_devices() const { return !devices.empty() || !not_devices.empty(); }
  /// Whether device `device` may hold slices of the table.
  [[nodiscard]] bool allow(int device) const;
  /// Whether `kinds` has `kind`, or rules out nothing.
  [[nodiscard]] bool allow(ShardingKind kind) const;

  friend bool operator==(const TableRules&, const TableRules&) = default;
};

}  // namespace neuroshard
#pragma GCC visibility pop
