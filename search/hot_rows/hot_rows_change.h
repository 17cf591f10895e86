#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "neuroshard/replan.h"
#include "neuroshard/task.h"
#include "search/state/running_holders.h"

namespace neuroshard {

/// Rows of a running plan that become hot, which are copied to every device that lacks them, or to
/// one of each node. Rows that no longer are hot join the blocks that their devices have; those
/// that each node held once are copied to the devices of these blocks. To number the other rows of
/// a table anew moves nothing. Rows of nodes are lost where nodes or their devices change.
class HotRowCopies {
 public:
  /// Borrows `task` and `running`. `hot_rows`: tables of `task` that may have them, ascending.
  /// Throws Error as running_tables() and places_of_running() do.
  HotRowCopies(const Task& task, const RunningPlan& running, const std::vector<HotRows>& hot_rows);

  /// The running plan with as many hot rows as tables had rows for.
  [[nodiscard]] const Plan& plan() const { return plan_; }
  /// [tables of the task]: running_tables().
  [[nodiscard]] const std::vector<std::optional<std::size_t>>& before() const { return before_; }
  /// All that devices are sent. Rows are numbered among the hot ones of their table.
  [[nodiscard]] std::vector<TableMove> moves() const;
  [[nodiscard]] std::int64_t bytes() const { return moved_bytes(moves()); }

 private:
  /// Rows that devices are sent. Of `device`, `place` and neither, those that are not -1 hold them.
  struct Copied {
    TableSlice rows;  ///< The table is one of the task.
    std::int64_t row_bytes = 0;
    int device = -1;    ///< One of the running plan.
    int place = -1;     ///< Devices in this place of each node.
    bool once = false;  ///< Each device of a node is sent a part, else all of them.
    int to = -1;        ///< This device of the task alone.
  };
  /// A table of the running plan before and after.
  struct Change {
    HotRows was;
    HotRows is;
    int table;  ///< In the task.
    int of;     ///< In the running plan.
    int dim;
    std::int64_t rows;
    RowBytes row;
  };
  void find(const Task& task, const RunningPlan& running);
  void copy_rows_of_slices(const Change& change, const RunningPlan& running);
  void copy_rows_of_nodes(const Change& change, bool are_held);
  /// If there are any rows.
  void add(const Change& change, Copied copied);

  std::vector<std::optional<std::size_t>> before_;
  RunningPlaces places_;
  Plan plan_;
  int node_devices_;  ///< In each node of the task.
  std::vector<Copied> copies_;
};

/// A change of a job from a plan to one with other hot rows, as one between plans without any:
/// those of HotRowsSplit, once rows that become hot are copied. If neither plan has any, all is as
/// it is.
class HotRowsChange {
 public:
  /// As HotRowCopies does.
  HotRowsChange(const Task& task, const RunningPlan& running, std::vector<HotRows> hot_rows);
  HotRowsChange(const HotRowsChange&) = delete;
  HotRowsChange& operator=(const HotRowsChange&) = delete;

  /// `task` with its hot rows as tables behind the others, which can but be replicated.
  [[nodiscard]] const Task& task() const { return split_ ? split_->first : task_; }
  [[nodiscard]] const RunningPlan& running() const { return split_ ? split_->second : running_; }
  /// [tables of task()]: the table of running() that each is; nothing: it is new.
  [[nodiscard]] const std::vector<std::optional<std::size_t>>& before() const { return before_; }
  /// Makes a plan of task() one of the listed tables, and adds the copies to its moves. Rows of a
  /// table with hot ones are numbered with these first.
  void undo(ReplanResult& result) const;

 private:
  const Task& task_;
  const RunningPlan& running_;
  std::vector<HotRows> hot_rows_;
  HotRowCopies copies_;
  /// Tables behind the listed ones: where their rows are in these.
  struct Part {
    int table;
    std::int64_t first_row;
  };
  std::vector<Part> parts_;
  std::vector<std::optional<std::size_t>> before_;
  std::optional<std::pair<Task, RunningPlan>> split_;
};

/// Hot rows of the running plan that a new task lets its tables keep.
[[nodiscard]] std::vector<HotRows> kept_hot_rows(const Task& task, const RunningPlan& running);

}  // namespace neuroshard
