#include "search/parts/single_tables.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/table_kind.h"
#include "core/table_rules.h"

namespace neuroshard {
namespace {

constexpr std::size_t kMostTrials = 40;
constexpr std::size_t kMostWithoutGain = 8;

// By CutCandidate::gain, which is often wrong by half for one table.
constexpr double kLeastGain = 0.3;

void put(std::vector<std::uint32_t>& tables, std::uint32_t table, bool in) {
  const auto at = std::ranges::lower_bound(tables, table);
  const bool is_in = at != tables.end() && *at == table;
  if (in && !is_in) tables.insert(at, table);
  if (!in && is_in) tables.erase(at);
}

CutChoice with_kind(CutChoice choice, std::uint32_t table, ShardingKind kind) {
  put(choice.replicas, table, kind == ShardingKind::kReplicate);
  put(choice.row_wise, table, kind == ShardingKind::kRow);
  put(choice.node_blocks, table, kind == ShardingKind::kTableRow);
  return choice;
}

}  // namespace

SingleTables::SingleTables(const Backend& backend, const Task& task,
                           const std::vector<std::uint32_t>& required, const PlanResult& planned,
                           const CutCandidates& candidates) {
  const std::vector<double> loads_ms = column_loads_ms(backend, task, *planned.plan, planned.cost);
  std::map<std::uint32_t, std::vector<Change>> of_tables;
  const auto add = [&](ShardingKind kind, const std::vector<CutCandidate>& of_kind) {
    for (const CutCandidate& one : of_kind) {
      if (std::ranges::binary_search(required, one.table) || one.gain < kLeastGain) continue;
      of_tables[one.table].push_back({one.table, kind});
    }
  };
  add(ShardingKind::kReplicate, candidates.replicas);
  add(ShardingKind::kRow, candidates.row_wise);
  add(ShardingKind::kTableRow, candidates.node_blocks);
  std::vector<std::uint32_t> order;
  for (auto& [table, changes] : of_tables) {
    if (may_be_in_columns(task, task.tables[table])) {
      changes.push_back({table, ShardingKind::kColumn});
    }
    order.push_back(table);
  }
  // Equal tables may take each other's place, no others.
  std::ranges::stable_sort(order, [&](std::uint32_t a, std::uint32_t b) {
    if (loads_ms[a] != loads_ms[b]) return loads_ms[a] > loads_ms[b];
    return kind_of(task.tables[a]) < kind_of(task.tables[b]);
  });
  for (const std::uint32_t t : order) {
    changes_.insert(changes_.end(), of_tables[t].begin(), of_tables[t].end());
  }
}

std::optional<CutChoice> SingleTables::next(CutChoice best) {
  std::ranges::sort(best.row_wise);
  while (trials_ < kMostTrials && without_gain_ < kMostWithoutGain) {
    if (next_ == changes_.size()) {
      if (!std::exchange(any_gain_, false)) return std::nullopt;
      next_ = 0;
    }
    const Change& change = changes_[next_++];
    CutChoice choice = with_kind(best, change.table, change.kind);
    if (choice == best) continue;
    ++trials_;
    ++without_gain_;
    return choice;
  }
  return std::nullopt;
}

void SingleTables::last_is_best() {
  without_gain_ = 0;
  any_gain_ = true;
}

}  // namespace neuroshard
