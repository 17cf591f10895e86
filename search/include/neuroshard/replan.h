#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "neuroshard/plan.h"
#include "neuroshard/plan_request.h"
#include "neuroshard/plan_result.h"
#include "neuroshard/task.h"

#pragma GCC visibility push(default)
namespace neuroshard {

/// A plan that a job runs by, and what has become of its devices.
///
/// A table of the new task is the running one of the same name (of several with one name, the first
/// is the first, and so on). What a device holds of it need not be sent, whatever its statistics
/// are now; of rows that have been added, only the new ones. A table of another dim is a new table.
/// Where that is cheaper, tables become replicated or row-wise, or no longer are.
struct RunningPlan {
  Task task;
  /// Valid for `task`. Row blocks are those of row-wise tables, an equal one on each device in
  /// their order: of others, a device would keep a part of what it needs of any columns, and
  /// nothing here reckons with that.
  Plan plan;
  /// Devices of `task` that are no longer there, by index. The others keep their order and become
  /// devices 0, 1, ... of the new task; what it has more of are empty.
  std::vector<int> lost_devices{};
};

/// What is asked of a new plan beside its cost. With neither a budget nor a price, the budget is
/// 1.2 times what has to be moved in any case, or what devices that have been added would hold if
/// all held the same, if that is more.
struct ReplanRequest {
  PlanRequest plan{};  ///< `alternatives` and `on_improvement` have no meaning here.
  /// Bytes that may be moved, those that must be among them.
  std::optional<std::int64_t> most_moved_bytes{};
  /// What was left of the budgets of earlier changes (`ReplanResult::unspent_bytes`; at the first,
  /// 0), which may be moved as well: what several changes move stays within the sum of their
  /// budgets. If given, a plan leaves for later changes what gains little. Refused with a price.
  std::optional<std::int64_t> unspent_bytes{};
  /// What a moved GiB is worth: a plan may move one more for each such gain. 0: moves are free.
  double ms_per_moved_gib = 0.0;
};

/// Columns of a table, all rows of them; of a row-wise table, those rows that are missing.
struct TableColumns {
  int table = 0;
  int first_column = 0;
  int dim = 0;

  friend bool operator==(const TableColumns&, const TableColumns&) = default;
};

/// Columns of a table that a device has to be sent.
struct TableMove {
  TableColumns columns;
  /// Device of the new task that holds them; -1: none, so that they come from storage or are new.
  int from = -1;
  int to = 0;
  /// Of the weights and the optimizer's state; where a device keeps its columns of a table that has
  /// grown, of the new rows; of a row-wise table, of the rows that `to` did not have.
  std::int64_t bytes = 0;
};

struct ReplanResult {
  PlanResult result;
  PlanCost running_cost;         ///< Of the running plan for its own task.
  std::vector<TableMove> moves;  ///< By receiving device, then table and column.
  std::int64_t moved_bytes = 0;  ///< Sum of `moves`.
  /// What no device holds: new tables and rows, and what was on lost devices; and what replicated
  /// and row-wise tables need on other devices to stay so. Or what this plan moves, if it is less.
  std::int64_t must_move_bytes = 0;
  /// What is left of the budget, with what earlier ones left if that was given, for later changes.
  /// The share of devices that have been added is not left to others. 0 without a budget.
  std::int64_t unspent_bytes = 0;
};

}  // namespace neuroshard
#pragma GCC visibility pop
