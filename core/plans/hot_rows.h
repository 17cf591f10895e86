#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "neuroshard/plan.h"
#include "neuroshard/task.h"

namespace neuroshard {

/// Rows of a table on every device, those that each node holds once, and its other rows, each by
/// themselves. The first two are nothing if there are none.
struct HotParts {
  std::optional<Table> hot;
  std::optional<Table> in_nodes;
  Table others;
};
/// `curve`: popularity_of(table). `node_devices`: of a node.
[[nodiscard]] HotParts hot_parts(const Table& table, const HotRows& rows,
                                 const std::vector<PopularRows>& curve, int node_devices);

/// A task and a plan without hot rows that cost as much as others with hot rows. The hot rows of
/// a table are a replica, behind all tables that are listed, and so are those that each node holds
/// once, with Table::replica_devices; the other rows are the table. docs/deduplication.md has the
/// formulas. Plans without hot rows, and their tasks, are as they are.
class HotRowsSplit {
 public:
  /// Borrows both. `plan` has hot rows of which hot_rows_problem_of() says nothing, ascending.
  HotRowsSplit(const Task& task, const Plan& plan);
  /// `parts_of` remembers parts: the popularity of a table takes tenths of a millisecond.
  HotRowsSplit(const Task& task, const Plan& plan,
               const std::function<const HotParts&(const HotRows&)>& parts_of);
  HotRowsSplit(const HotRowsSplit&) = delete;
  HotRowsSplit& operator=(const HotRowsSplit&) = delete;

  [[nodiscard]] const Task& task() const { return split_ ? split_->first : task_; }
  [[nodiscard]] const Plan& plan() const { return split_ ? split_->second : plan_; }
  /// The listed table that a table of task() is a part of.
  [[nodiscard]] int listed(int table) const;

 private:
  const Task& task_;
  const Plan& plan_;
  std::vector<int> listed_;  ///< Tables behind the listed ones are parts of these.
  std::optional<std::pair<Task, Plan>> split_;
};

/// The inverse of HotRowsSplit: `split` is a plan of the task that it made of `task` and
/// `hot_rows`, all of whose hot parts it replicates. A table whose other rows it replicates, too,
/// is a replica.
[[nodiscard]] Plan with_hot_rows(const Task& task, const std::vector<HotRows>& hot_rows,
                                 const Plan& split);

/// Why no plan of `task` can have `hot`, one of a table of it, and what to do about it. Nothing if
/// one can.
[[nodiscard]] std::optional<std::string> hot_rows_problem_of(const Task& task, const HotRows& hot);

/// Whether devices fill several nodes, so that each can hold rows once.
[[nodiscard]] bool fills_nodes(const Task& task);

/// Whether rules and groups let every device hold rows of a table.
[[nodiscard]] bool rules_allow_hot_rows(const Task& task, int table);

}  // namespace neuroshard
