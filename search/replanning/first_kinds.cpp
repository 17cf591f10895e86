#include "search/replanning/first_kinds.h"

#include <cstdint>
#include <utility>

#include "core/table_rules.h"
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
    const bool row_wise = may_be_cut(task, task.tables[t], task.devices);
    if (!kinds.kind(t) && !wanted[t] && row_wise) wanted[t] = ShardingKind::kRow;
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

}  // namespace neuroshard
