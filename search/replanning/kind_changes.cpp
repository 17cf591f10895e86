#include "search/replanning/kind_changes.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <utility>

#include "core/tables/table_rules.h"
#include "search/parts/even_blocks.h"
#include "search/residency.h"

namespace neuroshard {
namespace {

/// [tables of the plan's task]: nothing: of none of these, or of several.
std::vector<std::optional<ShardingKind>> kinds_of(const RunningPlan& running) {
  std::vector<std::optional<ShardingKind>> kinds(running.task.tables.size(), ShardingKind::kColumn);
  for (const TableSlice& slice : running.plan.slices) {
    if (is_row_block(running.task, slice)) kinds[static_cast<std::size_t>(slice.table)].reset();
  }
  for (const int t : running.plan.replicas) {
    kinds[static_cast<std::size_t>(t)] = ShardingKind::kReplicate;
  }
  for (const std::uint32_t t : running_blocks(running).row_wise) {
    if (!kinds[t]) kinds[t] = ShardingKind::kRow;
  }
  return kinds;
}

bool is_in_row_blocks(const std::optional<ShardingKind>& kind) {
  return !kind || *kind == ShardingKind::kRow;
}

}  // namespace

void forbid_replicas(const Task& task, Table& table) {
  // What else its rules name may be out of its reach.
  if (!may_be_in_columns(task, table) && !may_be_cut(task, table, task.devices)) return;
  TableRules& rules = table.rules;
  std::vector<ShardingKind> left;
  for (const ShardingKind kind : all_sharding_kinds()) {
    if (kind != ShardingKind::kReplicate && rules.allow(kind)) left.push_back(kind);
  }
  if (!left.empty()) rules.kinds = std::move(left);
}

RunningKinds::RunningKinds(const Task& task, const RunningPlan& running)
    : task_(task),
      whole_(whole_tables(task)),
      before_(running_tables(task, running.task)),
      holders_(task, running) {
  const auto running_kinds = kinds_of(running);
  for (std::uint32_t t = 0; t < before_.size(); ++t) {
    kinds_.push_back(before_[t] ? running_kinds[*before_[t]] : ShardingKind::kColumn);
    least_bytes_.push_back(kinds_[t] ? bytes(t, *kinds_[t]) : 0);
  }
}

std::int64_t RunningKinds::bytes(std::uint32_t t, ShardingKind kind) const {
  const TableSlice& whole = whole_[t];
  std::vector<TableMove> moves;
  if (kind == ShardingKind::kReplicate) {
    if (task_.tables[t].size_bytes() > kMaxTaskBytes / task_.devices) return kMaxTaskBytes;
    for (int device = 0; device < task_.devices; ++device) {
      holders_.add_moves(whole, device, before_[t], moves);
    }
  } else if (kind == ShardingKind::kRow) {
    Plan blocks;
    blocks.shards.resize(static_cast<std::size_t>(task_.devices));
    add_blocks(blocks, task_, whole, 0, task_.devices);
    for (std::size_t i = 0; i < blocks.slices.size(); ++i) {
      holders_.add_moves(blocks.slices[i], static_cast<int>(i), before_[t], moves);
    }
  } else if (before_[t] && kinds_[t] == ShardingKind::kRow) {
    // What devices hold of the rows of columns is not reckoned with.
    holders_.add_moves(whole, -1, std::nullopt, moves);
  } else {
    return holders_.missing_bytes(whole, before_[t]);
  }
  return moved_bytes(moves);
}

std::int64_t RunningKinds::bytes_out_of_blocks(std::uint32_t t) const {
  const TableSlice& whole = whole_[t];
  std::int64_t least = holders_.missing_bytes(whole, std::nullopt);  // As a new table.
  if (allows(t, ShardingKind::kRow)) least = std::min(least, bytes(t, ShardingKind::kRow));
  for (int device = 0; allows(t, ShardingKind::kColumn) && device < task_.devices; ++device) {
    std::vector<TableMove> moves;
    holders_.add_moves(whole, device, before_[t], moves);
    least = std::min(least, moved_bytes(moves));
  }
  const std::int64_t missing = holders_.missing_bytes(whole, before_[t]);
  return std::max(least, missing) - missing;
}

std::int64_t RunningKinds::least_bytes() const {
  std::int64_t least = 0;
  for (std::uint32_t t = 0; t < kinds_.size(); ++t) {
    least += bytes(t, kinds_[t] == ShardingKind::kRow ? ShardingKind::kRow : ShardingKind::kColumn);
  }
  return least;
}

bool RunningKinds::allows(std::uint32_t t, ShardingKind kind) const {
  const Table& table = task_.tables[t];
  if (kind == ShardingKind::kColumn) return may_be_in_columns(task_, table);
  return kind == ShardingKind::kRow ? may_be_cut(task_, table, task_.devices)
                                    : may_be_sharded(task_, table, kind);
}

bool RunningKinds::any_change_within(std::int64_t spare_bytes) const {
  for (std::uint32_t t = 0; t < kinds_.size(); ++t) {
    if (!kinds_[t]) continue;
    for (const ShardingKind kind :
         {ShardingKind::kColumn, ShardingKind::kReplicate, ShardingKind::kRow}) {
      if (kind != kinds_[t] && allows(t, kind) && change(t, kind).more_bytes <= spare_bytes) {
        return true;
      }
    }
  }
  return false;
}

Task RunningKinds::task_within(std::int64_t spare_bytes) const {
  Task ruled = task_;
  for (std::uint32_t t = 0; t < kinds_.size(); ++t) {
    if (kinds_[t] != ShardingKind::kReplicate && allows(t, ShardingKind::kReplicate) &&
        change(t, ShardingKind::kReplicate).more_bytes > spare_bytes) {
      forbid_replicas(task_, ruled.tables[t]);
    }
  }
  return ruled;
}

std::vector<TableMove> RunningKinds::moves_to(const Plan& plan) const {
  std::vector<TableMove> moves;
  const auto by_device = slices_by_device(plan);
  for (std::size_t d = 0; d < by_device.size(); ++d) {
    const int device = static_cast<int>(d);
    for (const int t : plan.replicas) {
      const auto table = static_cast<std::uint32_t>(t);
      holders_.add_moves(whole_[table], device, before_[table], moves);
    }
    for (const TableSlice& slice : by_device[d]) {
      holders_.add_moves(slice, device, before_[static_cast<std::size_t>(slice.table)], moves);
    }
  }
  sort_moves(moves);
  return moves;
}

void RunningKinds::recount_row_blocks(ReplanResult& result) const {
  if (!result.result.plan || std::ranges::none_of(kinds_, is_in_row_blocks)) return;
  const auto is_counted = [&](const TableMove& move) {
    return is_in_row_blocks(kinds_[static_cast<std::size_t>(move.columns.table)]);
  };
  std::erase_if(result.moves, is_counted);
  std::ranges::copy_if(moves_to(*result.result.plan), std::back_inserter(result.moves), is_counted);
  sort_moves(result.moves);
  result.moved_bytes = moved_bytes(result.moves);
}

std::vector<KindChange> RunningKinds::changes_to(const Plan& plan) const {
  const auto wanted = kinds_of({.task = task_, .plan = plan});
  std::vector<KindChange> changes;
  for (std::uint32_t t = 0; t < wanted.size(); ++t) {
    if (kinds_[t] && wanted[t] && kinds_[t] != wanted[t]) changes.push_back(change(t, *wanted[t]));
  }
  return changes;
}

std::int64_t RunningKinds::more_bytes(const Plan& plan) const {
  std::int64_t bytes = 0;
  for (const KindChange& change : changes_to(plan)) {
    bytes += std::max<std::int64_t>(0, std::min(change.more_bytes, kMaxTaskBytes - bytes));
  }
  return bytes;
}

}  // namespace neuroshard
