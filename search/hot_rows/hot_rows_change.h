#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "neuroshard/replan.h"
#include "neuroshard/task.h"

namespace neuroshard {

/// A change of a job from a plan to one with other hot rows, as one between plans without any:
/// those of HotRowsSplit. Before it, rows that become hot are copied to every device, and rows that
/// no longer are join the blocks that their devices have: running() has the hot rows of the new
/// plan. To number the other rows anew moves nothing. If neither plan has any, all is as it is.
class HotRowsChange {
 public:
  /// Borrows `task` and `running`. `hot_rows`: tables of `task` that may have them, ascending.
  /// Throws Error as running_tables() and surviving_devices() do.
  HotRowsChange(const Task& task, const RunningPlan& running, std::vector<HotRows> hot_rows);
  HotRowsChange(const HotRowsChange&) = delete;
  HotRowsChange& operator=(const HotRowsChange&) = delete;

  /// `task` with its hot rows as tables behind the others, which can but be replicated.
  [[nodiscard]] const Task& task() const { return split_ ? split_->first : task_; }
  [[nodiscard]] const RunningPlan& running() const { return split_ ? split_->second : running_; }
  /// [tables of task()]: the table of running() that each is; nothing: it is new.
  [[nodiscard]] const std::vector<std::optional<std::size_t>>& before() const { return before_; }
  /// Bytes of the rows that become hot, over all devices that are sent them.
  [[nodiscard]] std::int64_t copied_bytes() const;
  /// Makes a plan of task() one of the listed tables, and adds the copies to its moves. Rows of a
  /// table with hot ones are numbered with these first.
  void undo(ReplanResult& result) const;

 private:
  /// Rows of a running slice that become hot.
  struct Copied {
    TableSlice rows;  ///< The table is one of the new task; rows are numbered among its hot ones.
    std::optional<std::uint32_t> from;
    std::int64_t bytes;  ///< To each other device that is left.
  };
  /// `hot_rows`: those that the running plan then has.
  void find_copies(const std::vector<HotRows>& hot_rows);

  const Task& task_;
  const RunningPlan& running_;
  std::vector<HotRows> hot_rows_;
  std::vector<std::optional<std::size_t>> before_;
  std::vector<std::optional<std::uint32_t>> survivors_;
  std::int64_t devices_left_;
  std::vector<Copied> copies_;
  std::optional<std::pair<Task, RunningPlan>> split_;
};

/// Hot rows of the running plan that a new task lets its tables keep.
[[nodiscard]] std::vector<HotRows> kept_hot_rows(const Task& task, const RunningPlan& running);

}  // namespace neuroshard
