#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/device_set.h"
#include "neuroshard/task.h"

namespace neuroshard {

/// "group 2 ('user')" of group `index` of `task`, for messages; without the name if it has none.
[[nodiscard]] std::string group_label(const Task& task, std::size_t index);

/// "3 groups: 2 together (7 tables), 1 apart (2 tables)"; empty if there are none. A table counts
/// in each of its groups.
[[nodiscard]] std::string groups_text(const std::vector<TableGroup>& groups);

/// Says what is wrong with the groups of `task`, whose tables are valid, and what to do about it.
/// Nothing if nothing is.
[[nodiscard]] std::optional<std::string> group_problem_of(const Task& task);

/// Tables that groups keep together, directly or by way of others: a bundle. Ascending, at least
/// two.
using TableBundle = std::vector<std::uint32_t>;

/// By their first tables. None if no group keeps tables together.
[[nodiscard]] std::vector<TableBundle> table_bundles(const Task& task);

/// All tables: these bundles, and each other table alone; by their first tables.
[[nodiscard]] std::vector<TableBundle> tables_by_bundle(const Task& task);

/// `task` with the rules that its groups imply for their tables: these are on no row blocks of all
/// devices and no replicas, and whole if they are kept together, since a device has nothing of
/// cutting them.
[[nodiscard]] Task with_rules_of_groups(const Task& task);

/// Devices that may hold slices of all tables of a bundle.
[[nodiscard]] DeviceSet allowed_set(const Task& task, const TableBundle& bundle);

/// Whether two lists of groups, ascending, have one in common.
[[nodiscard]] bool share_a_group(const std::vector<std::uint32_t>& a,
                                 const std::vector<std::uint32_t>& b);

/// Which tables groups keep apart.
class ApartTables {
 public:
  explicit ApartTables(const Task& task);

  [[nodiscard]] bool empty() const { return groups_ == 0; }
  [[nodiscard]] std::size_t groups() const { return groups_; }
  /// Numbers of the groups that keep `table` from others, ascending.
  [[nodiscard]] const std::vector<std::uint32_t>& groups_of(std::size_t table) const {
    static const std::vector<std::uint32_t> none;
    return empty() ? none : groups_of_[table];
  }
  /// Whether a group keeps `a` from `b`, which are two tables.
  [[nodiscard]] bool apart(std::size_t a, std::size_t b) const {
    return share_a_group(groups_of_[a], groups_of_[b]);
  }

 private:
  std::size_t groups_ = 0;
  std::vector<std::vector<std::uint32_t>> groups_of_;  ///< [tables]; none if there are no groups.
};

/// Rounds of with_groups(), which ends as soon as one tells no more tables apart.
inline constexpr int kMostGroupRounds = 64;

/// Refines numbers that tell tables apart, `of_tables` [tables]: tables that are in other groups,
/// or in groups with others, get other numbers. They do not depend on the order of tables and
/// groups. `of_tables` itself if there are no groups. A round takes as long as there are tables in
/// groups; with fewer of them, tables count as alike that only groups of groups tell apart.
[[nodiscard]] std::vector<std::uint64_t> with_groups(const Task& task,
                                                     std::vector<std::uint64_t> of_tables,
                                                     int most_rounds = kMostGroupRounds);

/// Ascending, a number for each set of tables that groups connect and that with_groups() leaves
/// some of alike: two tasks whose numbers by with_groups() are the same have the same here only if
/// their groups are, but for collisions of hashes. Sets that take too many steps are left out: some
/// hundred equal tables in groups of a regular pattern. `numbers`: what with_groups() made of them.
[[nodiscard]] std::vector<std::uint64_t> group_patterns(const Task& task,
                                                        const std::vector<std::uint64_t>& numbers);

}  // namespace neuroshard
