#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "neuroshard/replan.h"
#include "search/replanning/running_blocks.h"
#include "search/replanning/running_holders.h"

namespace neuroshard {

/// A table that is sharded otherwise than it runs.
struct KindChange {
  std::uint32_t table = 0;
  ShardingKind kind = ShardingKind::kColumn;  ///< Or kReplicate, or kRow.
  /// What is moved for it, less what is if the table stays as it runs (or comes in columns).
  std::int64_t more_bytes = 0;
};

/// Takes kReplicate from the kinds that rules allow `table`, unless it can be neither in columns
/// nor row-wise.
void forbid_replicas(const Task& task, Table& table);

/// How the tables of a new task run, and what it takes to shard them otherwise. Those in row blocks
/// on nodes, or in several kinds, are left as they are.
class RunningKinds {
 public:
  /// Borrows both, of which `running` is valid.
  RunningKinds(const Task& task, const RunningPlan& running);

  /// kReplicate, kRow, or kColumn, of which new tables are; nothing: of another.
  [[nodiscard]] std::optional<ShardingKind> kind(std::uint32_t table) const {
    return kinds_[table];
  }
  /// What has to be moved at least for a table that is to be of this kind, in bytes; in columns, by
  /// the slices that it runs in.
  [[nodiscard]] std::int64_t bytes(std::uint32_t table, ShardingKind kind) const;
  [[nodiscard]] KindChange change(std::uint32_t table, ShardingKind kind) const {
    return {.table = table, .kind = kind, .more_bytes = bytes(table, kind) - least_bytes_[table]};
  }
  /// What has to be moved beyond what no device holds of a table in blocks of rows that leaves
  /// these: in one slice on the device that holds most of it, or row-wise on all, whichever is
  /// less; if rules allow neither, as a new table.
  [[nodiscard]] std::int64_t bytes_out_of_blocks(std::uint32_t table) const;
  /// What no device holds, in bytes.
  [[nodiscard]] std::int64_t least_bytes() const;
  /// Whether rules let any table be of another kind for which no more than `spare_bytes` have to be
  /// moved beyond what is if it stays as it runs.
  [[nodiscard]] bool any_change_within(std::int64_t spare_bytes) const;
  /// The new task, whose rules forbid replicas of tables for which more than `spare_bytes` would
  /// have to be moved beyond what is if they stay as they run. No plan within such a budget has
  /// them. Row blocks are not forbidden: where memory needs some, it is not known of which tables.
  [[nodiscard]] Task task_within(std::int64_t spare_bytes) const;
  /// All that devices have to be sent for `plan`, of the new task.
  [[nodiscard]] std::vector<TableMove> moves_to(const Plan& plan) const;
  /// Counts anew what is moved of tables that run in blocks of rows: in slices of columns,
  /// replan_task() takes them for tables that no device holds anything of.
  void recount_row_blocks(ReplanResult& result) const;
  /// Tables that `plan`, of the new task, has of another kind than they run, if rules allow it.
  [[nodiscard]] std::vector<KindChange> changes_to(const Plan& plan) const;
  /// What is moved for these changes.
  [[nodiscard]] std::int64_t more_bytes(const Plan& plan) const;

 private:
  [[nodiscard]] bool allows(std::uint32_t table, ShardingKind kind) const;

  const Task& task_;
  std::vector<TableSlice> whole_;
  std::vector<std::optional<std::size_t>> before_;
  RunningHolders holders_;
  std::vector<std::optional<ShardingKind>> kinds_;
  std::vector<std::int64_t> least_bytes_;
};

}  // namespace neuroshard
