#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "neuroshard/device_groups.h"
#include "neuroshard/plan.h"
#include "neuroshard/plan_request.h"
#include "neuroshard/plan_result.h"
#include "neuroshard/task.h"

#pragma GCC visibility push(default)
namespace neuroshard {

/// A plan that a job runs by, and what has become of its devices.
///
/// A table of the new task is the running one of the same name. If several have one name, or none,
/// they are matched in order. If these have become fewer, have fewer rows or another dim,
/// re-planning refuses, since devices would keep rows of other tables. Rows that a device holds
/// need not be sent, whatever the table's statistics are now; added rows must be. A table of
/// another dim is a new table. Where that is cheaper, tables become replicated or row-wise, or no
/// longer are. Hot rows stay where `exchange` of the new task says hot_rows, or change by cost:
/// rows that become hot are copied to each device that lacks them.
struct RunningPlan {
  Task task;
  /// Valid for `task`. Equal row blocks on all devices, or on those of a node in their order, go
  /// to other devices if some are lost. Tables in other row blocks stay where they are, or become
  /// row-wise.
  Plan plan;
  /// Devices of `task` that are no longer there, by index. The others keep their order and become
  /// devices 0, 1, ... of the new task; any further ones are empty.
  std::vector<int> lost_devices{};
  /// The job runs in groups of the devices of `task`, laid out so, of which each has this plan, and
  /// is to run in groups of those of the new task (device_groups.h). One number of devices divides
  /// the other, and none is lost. Moves are counted in all new groups that a running one becomes,
  /// or in the one that several become.
  std::optional<GroupLayout> regrouped{};
};

/// Limits and prices of moves for a new plan. With neither a budget nor a price, the budget is 1.2
/// times what has to be moved for tables to stay sharded as they run, as far as they can. It is at
/// least what added devices would hold if all devices held as much. Small moves come on top.
struct ReplanRequest {
  PlanRequest plan{};  ///< `alternatives` and `on_improvement` have no meaning here.
  /// Bytes that may be moved, including those that must be.
  std::optional<std::int64_t> most_moved_bytes{};
  /// Bytes left of the budgets of earlier changes (`ReplanResult::unspent_bytes`; at the first, 0),
  /// which may be moved as well. Several changes together thus stay within the sum of their
  /// budgets. If given, a plan leaves moves that gain little for later changes. Refused with a
  /// price.
  std::optional<std::int64_t> unspent_bytes{};
  /// Small moves count with neither a budget nor a price, if anything must be moved. Beyond what
  /// must be moved, they are this share of what tables take on all devices, or `small_moves_bytes`
  /// for each device if that is more. They are allowed if a plan within 1.2 times what must be
  /// moved would cost at least 1 % more. A table of some KiB may so get its replicas. 0 to 1. If
  /// both fields are 0, there are none.
  double small_moves_share = 0.02;
  /// For each device of the new task. The default takes a millisecond or two, about an iteration.
  std::int64_t small_moves_bytes = std::int64_t{16} << 20;
  /// Gain that a moved GiB is worth: a plan may move one more for each such gain. 0: moves are
  /// free.
  double ms_per_moved_gib = 0.0;
};

/// Columns of a table.
struct TableColumns {
  int table = 0;
  int first_column = 0;
  int dim = 0;

  friend bool operator==(const TableColumns&, const TableColumns&) = default;
};

/// Rows of columns of a table that a device has to be sent. Rows of a table with hot rows are
/// numbered with these first.
struct TableMove {
  TableColumns columns;
  /// Device of the new task that holds them; -1: none, so that they come from storage or are new.
  /// It is `to` where groups are split and another new group has them there. To an added device it
  /// sends rows that become hot once it has been sent them.
  int from = -1;
  int to = 0;
  /// Bytes of the weights and the optimizer's state, in all new groups of a running one that lack
  /// them.
  std::int64_t bytes = 0;
  std::int64_t first_row = 0;
  std::int64_t rows = 0;  ///< At least one row.
};

struct ReplanResult {
  PlanResult result;
  PlanCost running_cost;         ///< Cost of the running plan for its own task.
  std::vector<TableMove> moves;  ///< Ordered by receiving device, then table, column and row.
  std::int64_t moved_bytes = 0;  ///< Sum of `moves`.
  /// Bytes that have to be moved if all tables stay sharded as they run, whatever this plan does
  /// with them. They are first what no device holds: new tables (each one slice, or as rules want
  /// it), new rows, and what was on lost devices. State that belongs to rows counts for each slice
  /// that gets some. Then come bytes that replicated and row-wise tables need on other devices. A
  /// table in blocks of rows that rules or the number of devices no longer let stay so counts as
  /// one slice on the device that holds most of it, or row-wise, whichever is less. A plan moves
  /// less if it drops replicas or joins slices, and more if something has to give way.
  std::int64_t must_move_bytes = 0;
  /// Bytes of the budget left for later changes, including what earlier ones left if that was
  /// given. The share of devices that have been added is not left to others. 0 without a budget.
  std::int64_t unspent_bytes = 0;
};

}  // namespace neuroshard
#pragma GCC visibility pop
