#include "search/infeasibility/required_ways.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/plans/equal_blocks.h"
#include "core/plans/replicas.h"
#include "core/tables/table_rules.h"
#include "search/infeasibility/infeasibility.h"
#include "search/infeasibility/sharding_means.h"
#include "search/state/even_blocks.h"

namespace neuroshard {
namespace {

template <typename Wanted>
std::vector<std::uint32_t> tables_that(const Task& task, const Wanted& wanted) {
  std::vector<std::uint32_t> tables;
  for (std::uint32_t t = 0; t < task.tables.size(); ++t) {
    if (wanted(task.tables[t])) tables.push_back(t);
  }
  return tables;
}

/// Bytes that tables take of a device, replicated or in blocks on as many devices as there can be;
/// nothing if they do not fit.
std::optional<std::int64_t> taken_bytes(const Task& task,
                                        const std::vector<std::uint32_t>& replicas,
                                        const std::vector<std::uint32_t>& in_blocks) {
  const TouchedGradients touched(task);
  std::int64_t bytes = 0;
  for (const std::uint32_t t : replicas) {
    bytes += replica_memory(task, static_cast<int>(t), touched).total_bytes();
  }
  for (const std::uint32_t t : in_blocks) {
    std::optional<std::int64_t> least;
    for (const int group : block_groups(task)) {
      if (!may_be_cut(task, task.tables[t], group)) continue;
      const std::int64_t of_group = busiest_block(task, t, group).size_bytes();
      least = std::min(least.value_or(of_group), of_group);
    }
    bytes += least.value_or(0);
  }
  if (bytes > std::ranges::min(rooms_bytes(task))) return std::nullopt;
  return bytes;
}

}  // namespace

bool may_be_in_blocks(const Task& task, const Table& table) {
  return std::ranges::any_of(block_groups(task),
                             [&](int group) { return may_be_cut(task, table, group); });
}

std::vector<std::uint32_t> tables_to_cut_by_rows(const Task& task) {
  return tables_that(task, [&](const Table& table) {
    return !may_be_in_columns(task, table) && may_be_in_blocks(task, table);
  });
}

std::vector<std::uint32_t> tables_to_replicate(const Task& task) {
  return tables_that(task, [&](const Table& table) {
    return !may_be_in_columns(task, table) && !may_be_in_blocks(task, table) &&
           may_be_sharded(task, table, ShardingKind::kReplicate);
  });
}

Infeasibility no_plan_found(const Task& task, bool impossible, const StopCondition& stop) {
  const std::vector<std::uint32_t> replicas = tables_to_replicate(task);
  const std::vector<std::uint32_t> in_blocks = tables_to_cut_by_rows(task);
  const std::optional<std::int64_t> taken = taken_bytes(task, replicas, in_blocks);
  if (!in_blocks.empty()) return no_room_beside(task, in_blocks, "cut by rows", taken, stop);
  if (!replicas.empty()) return no_room_beside(task, replicas, "replicated", taken, stop);
  if (std::optional<Infeasibility> proof = proof_by_memory(task)) return *std::move(proof);
  return packing_failure(task, impossible);
}

}  // namespace neuroshard
