#include "search/replanning/kept_replicas.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <tuple>
#include <utility>

#include "core/message_text.h"
#include "core/table_label.h"
#include "core/table_rules.h"
#include "neuroshard/error.h"
#include "neuroshard/simulator.h"
#include "search/residency.h"

namespace neuroshard {
namespace {

/// The running plan without its replicas.
RunningPlan without_replicas(const RunningPlan& running) {
  const std::vector<std::uint32_t> replicas(running.plan.replicas.begin(),
                                            running.plan.replicas.end());
  PartialTask others = task_without(running.task, replicas, 0);
  std::vector<int> new_index(running.task.tables.size(), -1);
  for (std::size_t t = 0; t < others.tables.size(); ++t) {
    new_index[others.tables[t]] = static_cast<int>(t);
  }
  RunningPlan rest{.task = std::move(others.task),
                   .plan = {.slices = running.plan.slices, .shards = running.plan.shards},
                   .lost_devices = running.lost_devices};
  for (TableSlice& slice : rest.plan.slices) {
    slice.table = new_index[static_cast<std::size_t>(slice.table)];
  }
  return rest;
}

void add_moves(const Task& task, int table, std::int64_t rows_before, int devices_before,
               KeptReplicas& kept) {
  const Table& of = task.tables[static_cast<std::size_t>(table)];
  const RowBytes row = stored_bytes(of.memory);
  const std::int64_t row_bytes = row.per_column * of.dim + row.per_row;
  for (int device = 0; device < task.devices; ++device) {
    const bool added = device >= devices_before;
    const std::int64_t rows = added ? of.rows : std::max<std::int64_t>(0, of.rows - rows_before);
    if (rows == 0) continue;
    // All have the same rows, so the first one that is left can send them; new ones nobody has.
    const int from = added && devices_before > 0 ? 0 : -1;
    kept.moves.push_back({.columns = {.table = table, .first_column = 0, .dim = of.dim},
                          .from = from,
                          .to = device,
                          .bytes = rows * row_bytes});
    kept.moved_bytes += kept.moves.back().bytes;
  }
}

}  // namespace

std::optional<KeptReplicas> keep_replicas(const Task& task, const RunningPlan& running) {
  if (running.plan.replicas.empty()) return std::nullopt;
  KeptReplicas kept;
  kept.running = without_replicas(running);
  kept.replicas.shards.resize(static_cast<std::size_t>(task.devices));
  const int devices_before = running.task.devices - static_cast<int>(running.lost_devices.size());
  const auto before = running_tables(task, running.task);
  std::vector<std::uint32_t> tables;
  for (std::size_t t = 0; t < before.size(); ++t) {
    const bool replicated = before[t] && std::ranges::binary_search(running.plan.replicas,
                                                                    static_cast<int>(*before[t]));
    if (!replicated || !may_be_sharded(task, task.tables[t], ShardingKind::kReplicate)) continue;
    tables.push_back(static_cast<std::uint32_t>(t));
    kept.replicas.replicas.push_back(static_cast<int>(t));
    add_moves(task, static_cast<int>(t), running.task.tables[*before[t]].rows, devices_before,
              kept);
  }
  const std::int64_t bytes = replicas_memory(task, kept.replicas).total_bytes();
  const std::int64_t least_room = std::ranges::min(rooms_bytes(task));
  if (bytes >= least_room) {
    throw Error("the tables that the running plan replicates need " + format_bytes(bytes) +
                " on every device, but one has room for " + format_bytes(least_room) +
                "; plan the task anew");
  }
  kept.rest = task_without(task, tables, bytes);
  return kept;
}

void require_columns(const Task& task, const std::vector<int>& replicas) {
  for (int t = 0; std::cmp_less(t, task.tables.size()); ++t) {
    const Table& table = task.tables[static_cast<std::size_t>(t)];
    if (may_be_in_columns(task, table) || std::ranges::binary_search(replicas, t)) continue;
    throw Error(label_of(task, t) + " may neither be whole nor in slices of columns" +
                rules_text(table.rules) +
                ", but re-planning makes no row blocks and replicates no tables anew; plan the "
                "task anew, or loosen the rule kinds");
  }
}

ReplanResult with_kept_replicas(const Backend& backend, const Task& task, const KeptReplicas& kept,
                                ReplanResult of_rest) {
  ReplanResult result = std::move(of_rest);
  result.must_move_bytes += kept.moved_bytes;
  if (!result.result.plan) return result;
  Plan plan = kept.replicas;
  add_part(plan, kept.rest, *result.result.plan);
  result.result.cost = simulate(backend, task, plan);
  result.result.plan = std::move(plan);
  for (TableMove& move : result.moves) {
    move.columns.table =
        static_cast<int>(kept.rest.tables[static_cast<std::size_t>(move.columns.table)]);
  }
  std::ranges::copy(kept.moves, std::back_inserter(result.moves));
  std::ranges::sort(result.moves, {}, [](const TableMove& move) {
    return std::tuple(move.to, move.columns.table, move.columns.first_column);
  });
  result.moved_bytes += kept.moved_bytes;
  return result;
}

}  // namespace neuroshard
