#include "search/hot_rows/hot_rows_change.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "core/plans/hot_rows.h"
#include "search/hot_rows/popular_tables.h"
#include "search/state/running_holders.h"

namespace neuroshard {

HotRowCopies::HotRowCopies(const Task& task, const RunningPlan& running,
                           const std::vector<HotRows>& hot_rows)
    : before_(running_tables(task, running.task)), places_(places_of_running(task, running)) {
  std::vector<HotRows> of_running;
  for (const HotRows& hot : hot_rows) {
    const std::optional<std::size_t> table = before_[static_cast<std::size_t>(hot.table)];
    if (!table) continue;
    const std::int64_t most = running.task.tables[*table].rows - running.task.devices;
    if (most > 0) of_running.push_back({static_cast<int>(*table), std::min(hot.rows, most)});
  }
  std::ranges::sort(of_running, {}, &HotRows::table);
  plan_ = with_other_hot_rows(running.task, running.plan, of_running);
  find(task, running);
}

// Rows that become hot are spread evenly over the others, so that each slice has its share of them.
void HotRowCopies::find(const Task& task, const RunningPlan& running) {
  const std::size_t tables = running.task.tables.size();
  std::vector<std::int64_t> was(tables, 0);
  std::vector<std::int64_t> is(tables, 0);
  std::vector<int> now(tables, -1);
  for (const auto& [table, rows] : running.plan.hot_rows)
    was[static_cast<std::size_t>(table)] = rows;
  for (const auto& [table, rows] : plan_.hot_rows) is[static_cast<std::size_t>(table)] = rows;
  for (std::size_t t = 0; t < before_.size(); ++t) {
    if (before_[t]) now[*before_[t]] = static_cast<int>(t);
  }
  for (std::size_t d = 0; d < running.plan.shards.size(); ++d) {
    for (const int index : running.plan.shards[d]) {
      TableSlice slice = running.plan.slices[static_cast<std::size_t>(index)];
      const auto b = static_cast<std::size_t>(slice.table);
      if (now[b] < 0 || is[b] <= was[b]) continue;
      const double share = static_cast<double>(is[b] - was[b]) /
                           static_cast<double>(running.task.tables[b].rows - was[b]);
      const auto hot_before = [&](std::int64_t row) {
        return std::llround(share * static_cast<double>(row));
      };
      const std::int64_t first = hot_before(slice.first_row);
      slice.rows = hot_before(slice.first_row + slice.rows) - first;
      slice.first_row = was[b] + first;
      slice.table = now[b];
      if (slice.rows < 1) continue;
      const RowBytes row = stored_bytes(task.tables[static_cast<std::size_t>(slice.table)].memory);
      const std::int64_t bytes = slice.rows * (row.per_column * slice.dim + row.per_row);
      copies_.push_back({slice, static_cast<int>(d), bytes});
    }
  }
}

template <typename Send>
void HotRowCopies::for_each(const Send& send) const {
  for (const Copied& copied : copies_) {
    const auto& holders = places_.devices[static_cast<std::size_t>(copied.device)];
    for (int to = 0; to < places_.devices_left; ++to) {
      const bool has = std::ranges::find(holders, static_cast<std::uint32_t>(to)) != holders.end();
      const int groups = places_.groups - (has ? 1 : 0);
      if (groups > 0) send(copied, to, groups * copied.bytes);
    }
  }
}

std::int64_t HotRowCopies::bytes() const {
  std::int64_t all = 0;
  for_each([&](const Copied&, int, std::int64_t bytes) { all += bytes; });
  return all;
}

void HotRowCopies::add_to(std::vector<TableMove>& moves) const {
  for_each([&](const Copied& copied, int to, std::int64_t bytes) {
    const auto& holders = places_.devices[static_cast<std::size_t>(copied.device)];
    moves.push_back({.columns = {copied.rows.table, copied.rows.first_column, copied.rows.dim},
                     .from = holders.empty() ? -1 : static_cast<int>(holders.front()),
                     .to = to,
                     .bytes = bytes,
                     .first_row = copied.rows.first_row,
                     .rows = copied.rows.rows});
  });
}

HotRowsChange::HotRowsChange(const Task& task, const RunningPlan& running,
                             std::vector<HotRows> hot_rows)
    : task_(task),
      running_(running),
      hot_rows_(std::move(hot_rows)),
      copies_(task, running, hot_rows_),
      before_(copies_.before()) {
  if (hot_rows_.empty() && running.plan.hot_rows.empty()) return;
  Plan only_hot;
  only_hot.hot_rows = hot_rows_;
  const HotRowsSplit now(task, only_hot);
  const HotRowsSplit was(running.task, copies_.plan());
  split_.emplace(now.task(),
                 RunningPlan{was.task(), was.plan(), running.lost_devices, running.regrouped});
  std::vector<Table>& tables = split_->first.tables;
  const std::vector<HotRows>& hot_before = copies_.plan().hot_rows;
  for (std::size_t t = task.tables.size(); t < tables.size(); ++t) {
    tables[t].rules.kinds = {ShardingKind::kReplicate};
    const std::optional<std::size_t> table =
        before_[static_cast<std::size_t>(now.listed(static_cast<int>(t)))];
    const auto has = [&](const HotRows& hot) { return table && std::cmp_equal(hot.table, *table); };
    const auto hot = std::ranges::find_if(hot_before, has);
    before_.emplace_back();
    if (hot == hot_before.end()) continue;
    before_.back() =
        running.task.tables.size() + static_cast<std::size_t>(hot - hot_before.begin());
  }
}

void HotRowsChange::undo(ReplanResult& result) const {
  if (!split_ || !result.result.plan) return;
  std::vector<std::int64_t> hot(task_.tables.size(), 0);
  for (const auto& [table, rows] : hot_rows_) hot[static_cast<std::size_t>(table)] = rows;
  for (TableMove& move : result.moves) {
    int& table = move.columns.table;
    if (std::cmp_less(table, task_.tables.size())) {
      move.first_row += hot[static_cast<std::size_t>(table)];
    } else {
      table = hot_rows_[static_cast<std::size_t>(table) - task_.tables.size()].table;
    }
  }
  copies_.add_to(result.moves);
  std::ranges::stable_sort(result.moves, {}, [](const TableMove& move) {
    return std::tuple(move.to, move.columns.table, move.columns.first_column, move.first_row);
  });
  result.moved_bytes += copies_.bytes();
  result.result.plan = with_hot_rows(task_, hot_rows_, *result.result.plan);
}

std::vector<HotRows> kept_hot_rows(const Task& task, const RunningPlan& running) {
  std::vector<HotRows> kept;
  if (!task.exchange.hot_rows || task.devices == 1 || running.plan.hot_rows.empty()) return kept;
  const std::vector<std::optional<std::size_t>> before = running_tables(task, running.task);
  for (std::size_t t = 0; t < before.size(); ++t) {
    const int table = static_cast<int>(t);
    if (!before[t] || !task.tables[t].row_shares.empty() || !rules_allow_hot_rows(task, table)) {
      continue;
    }
    const auto has = [&](const HotRows& hot) { return std::cmp_equal(hot.table, *before[t]); };
    const auto hot = std::ranges::find_if(running.plan.hot_rows, has);
    if (hot == running.plan.hot_rows.end()) continue;
    const std::int64_t rows = std::min(hot->rows, task.tables[t].rows - task.devices);
    if (rows > 0) kept.push_back({table, rows});
  }
  return kept;
}

}  // namespace neuroshard
