#include "search/replanning/first_kinds.h"

#include <algorithm>
#include <utility>

#include "core/tables/table_rules.h"
#include "search/parts/even_blocks.h"

namespace neuroshard {
namespace {

WantedKinds as_they_run(const KindOrder& order, const RunningKinds& kinds) {
  const Task& task = order.task;
  WantedKinds wanted(task.tables.size());
  for (std::uint32_t t = 0; order.replicas && t < wanted.size(); ++t) {
    const Table& table = task.tables[t];
    if (may_be_in_columns(task, table) || !kinds.kind(t)) continue;
    const bool row_wise = may_be_cut(task, table, task.devices);
    const bool replicated = may_be_sharded(task, table, ShardingKind::kReplicate);
    if (kinds.kind(t) == ShardingKind::kReplicate && replicated) continue;
    if (row_wise || replicated) {
      wanted[t] = row_wise ? ShardingKind::kRow : ShardingKind::kReplicate;
    }
  }
  return wanted;
}

}  // namespace

std::vector<WantedKinds> first_kinds(const KindOrder& order, const RunningKinds& kinds) {
  const Task& task = order.task;
  std::vector<WantedKinds> all{as_they_run(order, kinds)};
  WantedKinds wanted = all.front();
  for (std::uint32_t t = 0; order.replicas && t < wanted.size(); ++t) {
    if (kinds.kind(t) || wanted[t]) continue;
    const Table& table = task.tables[t];
    if (may_be_cut(task, table, task.devices)) {
      wanted[t] = ShardingKind::kRow;
    } else if (!may_be_in_columns(task, table) &&
               may_be_sharded(task, table, ShardingKind::kReplicate)) {
      wanted[t] = ShardingKind::kReplicate;
    }
  }
  if (wanted != all.back()) all.push_back(wanted);
  for (std::uint32_t t = 0; t < wanted.size(); ++t) {
    if (kinds.kind(t) == ShardingKind::kReplicate && !wanted[t] &&
        may_be_in_columns(task, task.tables[t])) {
      wanted[t] = ShardingKind::kColumn;
    }
  }
  if (wanted != all.back()) all.push_back(std::move(wanted));
  return all;
}

std::optional<std::int64_t> least_moves(const Backend& backend, const KindOrder& order,
                                        std::span<const WantedKinds> kinds) {
  RestRequest free{.request = order.request};
  free.request.most_moved_bytes.reset();
  free.request.unspent_bytes.reset();
  std::optional<std::int64_t> least;
  const auto add = [&](std::int64_t bytes) { least = std::min(least.value_or(kAnyBytes), bytes); };
  for (const WantedKinds& wanted : kinds) {
    const KeptTables kept = keep_tables(backend, order.task, order.running, wanted);
    if (!can_be_laid_out(order.task, kept)) continue;
    if (kept.rest.tables.empty()) {
      add(kept.moved_bytes);
      continue;
    }
    const Replanned rest = order.replan_rest(kept, free);
    if (rest.least_start_bytes) add(kept.moved_bytes + *rest.least_start_bytes);
  }
  return least;
}

}  // namespace neuroshard
