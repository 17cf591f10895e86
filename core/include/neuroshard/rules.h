#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "neuroshard/sharding_kind.h"

#pragma GCC visibility push(default)
namespace neuroshard {

/// Rules that every plan keeps for one table. The defaults rule out nothing.
struct TableRules {
  bool no_split = false;  ///< The table is one slice.
  /// Columns that each slice has at least, if the table has so many; 0: no rule.
  int min_width = 0;
  int max_slices = 0;  ///< Slices that the table has at most; 0: no rule.
  /// Devices that may hold slices of it, a set; empty: all. One alone pins the table.
  std::vector<int> devices{};
  std::vector<int> not_devices{};  ///< Devices that may not, a set.
  /// Nodes that may hold slices of it, and nodes that may not, in the manner of `devices` and
  /// `not_devices`. A node has Task::devices_per_node devices. If several of these rules are given,
  /// a device must be allowed by each.
  std::vector<int> nodes{};
  std::vector<int> not_nodes{};
  /// Kinds of sharding that it may have, a set; empty: all. sharding_kinds() tells those that it
  /// has in a plan: one of them must be here.
  std::vector<ShardingKind> kinds{};
  bool keep_in_hbm = false;  ///< No row of it waits in the host's memory.
  /// HBM has room for this share of the rows of each slice, over 0 and below 1, and the others wait
  /// in the host's memory; 0: no rule. The task must state host memory.
  double hbm_share = 0.0;

  [[nodiscard]] bool limit_splits() const {
    return no_split || min_width > 0 || max_slices > 0 || !allow(ShardingKind::kColumn);
  }
  [[nodiscard]] bool limit_devices() const {
    return !(devices.empty() && not_devices.empty() && nodes.empty() && not_nodes.empty());
  }
  /// Whether device `device` may hold slices of the table, in nodes of so many.
  [[nodiscard]] bool allow(int device, int devices_per_node) const;
  /// Puts one rule, `devices`, in the place of all that limit devices.
  void limit_to(std::vector<int> allowed);
  /// Whether `kinds` has `kind`, or rules out nothing.
  [[nodiscard]] bool allow(ShardingKind kind) const;

  friend bool operator==(const TableRules&, const TableRules&) = default;
};

/// Says how the tables of a group are to be kept.
enum class Keep {
  kTogether,  ///< All that a plan has of them is on one device.
  kApart,     ///< No device holds anything of two of them. A table may be on several devices.
};

/// "together", "apart"; "unknown" for a number that is none of the enumerators.
[[nodiscard]] std::string_view name_of(Keep keep);
/// Throws Error on any other name.
[[nodiscard]] Keep keep_from_name(std::string_view name);

/// Rule that every plan keeps for several tables of a task. A replicated table is on every device.
struct TableGroup {
  std::string name{};         ///< Used in messages only; may be empty.
  std::vector<int> tables{};  ///< Indices into Task::tables, a set of at least two.
  Keep keep = Keep::kTogether;

  friend bool operator==(const TableGroup&, const TableGroup&) = default;
};

}  // namespace neuroshard
#pragma GCC visibility pop
