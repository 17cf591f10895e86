#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "core/plans/hot_rows.h"
#include "neuroshard/plan.h"
#include "neuroshard/task.h"

namespace neuroshard {

/// Which rows of which tables of a task every device may hold. At most a thousand tables have any,
/// those with most traffic: to say which rows of a table are popular takes some 20 us.
class PopularTables {
 public:
  /// Borrows `task`.
  explicit PopularTables(const Task& task);

  /// So many rows of a table are looked up at least `lookups` times by a batch on average. None of
  /// a table that may have no hot rows, and never so many that a device is left without others.
  [[nodiscard]] std::int64_t rows(int table, double lookups) const;
  /// At most `rows`, and as many as the table may have.
  [[nodiscard]] std::int64_t limited(int table, double rows) const;
  /// The most that it may have.
  [[nodiscard]] std::int64_t most_rows(int table) const {
    return most_rows_[static_cast<std::size_t>(table)];
  }
  /// The parts of a table that may have them; remembered.
  [[nodiscard]] const HotParts& parts(const HotRows& hot);
  /// Tables that may have some, those with most traffic first.
  [[nodiscard]] const std::vector<int>& by_traffic() const { return by_traffic_; }

 private:
  const Task& task_;
  std::vector<std::vector<PopularRows>> curves_;  ///< [tables]
  std::vector<std::int64_t> most_rows_;           ///< [tables]; 0: none of it.
  std::vector<int> by_traffic_;
  /// By table, rows and node_rows.
  std::map<std::tuple<int, std::int64_t, std::int64_t>, HotParts> parts_;
};

/// `plan` of `task` with these hot rows in place of its own. Blocks keep their share of a table's
/// other rows, and equal ones stay equal; a table of which one would be empty stays as it is. The
/// other rows of a replica come in equal blocks on all devices.
[[nodiscard]] Plan with_other_hot_rows(const Task& task, const Plan& plan,
                                       const std::vector<HotRows>& hot_rows);

}  // namespace neuroshard
