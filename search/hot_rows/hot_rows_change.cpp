#include "search/hot_rows/hot_rows_change.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "core/plans/hot_rows.h"
#include "search/hot_rows/popular_tables.h"
#include "search/state/running_holders.h"

namespace neuroshard {

namespace {

/// Whether devices and nodes are those of the running plan.
bool has_same_nodes(const Task& task, const RunningPlan& running) {
  return running.lost_devices.empty() && !running.regrouped &&
         task.devices == running.task.devices &&
         task.devices_per_node == running.task.devices_per_node;
}

/// `slice`, with its share of so many of all `rows` of its table, numbered from `first` on.
TableSlice share_of(TableSlice slice, std::int64_t count, std::int64_t rows, std::int64_t first) {
  const double share = static_cast<double>(count) / static_cast<double>(rows);
  const auto end = [&](std::int64_t row) { return std::llround(share * static_cast<double>(row)); };
  const std::int64_t begin = end(slice.first_row);
  slice.rows = end(slice.first_row + slice.rows) - begin;
  slice.first_row = first + begin;
  return slice;
}

/// Part `index` of so many of the rows.
TableSlice part_of(TableSlice rows, int index, int parts) {
  const auto begin = [&](int part) { return rows.rows * part / parts; };
  rows.first_row += begin(index);
  rows.rows = begin(index + 1) - begin(index);
  return rows;
}

}  // namespace

HotRowCopies::HotRowCopies(const Task& task, const RunningPlan& running,
                           const std::vector<HotRows>& hot_rows)
    : before_(running_tables(task, running.task)),
      places_(places_of_running(task, running)),
      node_devices_(task.devices_per_node) {
  std::vector<HotRows> of_running;
  for (const HotRows& hot : hot_rows) {
    const std::optional<std::size_t> table = before_[static_cast<std::size_t>(hot.table)];
    if (!table) continue;
    const std::int64_t most = running.task.tables[*table].rows - running.task.devices;
    if (most <= 0) continue;
    const std::int64_t rows = std::min(hot.rows, most);
    of_running.push_back({static_cast<int>(*table), rows, std::min(hot.node_rows, most - rows)});
  }
  std::ranges::sort(of_running, {}, &HotRows::table);
  plan_ = with_other_hot_rows(running.task, running.plan, of_running);
  find(task, running);
}

void HotRowCopies::find(const Task& task, const RunningPlan& running) {
  std::vector<HotRows> was(running.task.tables.size());
  std::vector<HotRows> is(was.size());
  for (const HotRows& hot : running.plan.hot_rows) was[static_cast<std::size_t>(hot.table)] = hot;
  for (const HotRows& hot : plan_.hot_rows) is[static_cast<std::size_t>(hot.table)] = hot;
  const bool are_held = has_same_nodes(task, running);
  for (std::size_t t = 0; t < before_.size(); ++t) {
    if (!before_[t]) continue;
    const std::size_t b = *before_[t];
    const Change change{.was = was[b],
                        .is = is[b],
                        .table = static_cast<int>(t),
                        .of = static_cast<int>(b),
                        .dim = task.tables[t].dim,
                        .rows = running.task.tables[b].rows,
                        .row = stored_bytes(task.tables[t].memory)};
    if (change.was != change.is) copy_rows_of_slices(change, running);
    if (change.was.node_rows > 0) copy_rows_of_nodes(change, are_held);
  }
}

void HotRowCopies::add(const Change& change, Copied copied) {
  copied.rows.table = change.table;
  copied.row_bytes = change.row.per_column * copied.rows.dim + change.row.per_row;
  if (copied.rows.rows > 0) copies_.push_back(copied);
}

// Rows that become hot are spread evenly over the others, so that each slice has its share of them.
void HotRowCopies::copy_rows_of_slices(const Change& change, const RunningPlan& running) {
  const std::int64_t first = change.was.all();
  const std::int64_t to_devices = std::max<std::int64_t>(0, change.is.rows - first);
  const std::int64_t to_nodes = std::max<std::int64_t>(0, change.is.all() - first) - to_devices;
  if (to_devices + to_nodes == 0) return;
  for (std::size_t d = 0; d < running.plan.shards.size(); ++d) {
    for (const int index : running.plan.shards[d]) {
      const TableSlice& slice = running.plan.slices[static_cast<std::size_t>(index)];
      if (slice.table != change.of) continue;
      const std::int64_t others = change.rows - first;
      const int device = static_cast<int>(d);
      add(change, {.rows = share_of(slice, to_devices, others, first), .device = device});
      add(change, {.rows = share_of(slice, to_nodes, others, first + to_devices),
                   .device = device,
                   .once = true});
    }
  }
}

// Rows that stay in nodes stay where they are, if the nodes do.
void HotRowCopies::copy_rows_of_nodes(const Change& change, bool are_held) {
  const HotRows& was = change.was;
  const HotRows& is = change.is;
  const std::int64_t end = was.all();
  const auto rows_of = [&](std::int64_t first, std::int64_t last) {
    return TableSlice{.table = change.table,
                      .dim = change.dim,
                      .first_row = first,
                      .rows = std::max<std::int64_t>(0, last - first)};
  };
  const TableSlice to_devices = rows_of(was.rows, std::min(end, is.rows));
  for (int place = 0; are_held && place < node_devices_; ++place) {
    add(change, {.rows = part_of(to_devices, place, node_devices_), .place = place});
  }
  if (!are_held) {
    add(change, {.rows = to_devices});
    add(change,
        {.rows = rows_of(std::max(was.rows, is.rows), std::min(end, is.all())), .once = true});
  }
  const std::int64_t to_slices = end - std::max(was.rows, is.all());
  if (to_slices <= 0) return;
  for (std::size_t d = 0; d < plan_.shards.size(); ++d) {
    for (const int index : plan_.shards[d]) {
      const TableSlice& slice = plan_.slices[static_cast<std::size_t>(index)];
      if (slice.table != change.of) continue;
      // They come last in it.
      TableSlice rows = share_of(slice, to_slices, change.rows - is.all(), 0);
      rows.first_row = is.all() + slice.first_row + slice.rows - rows.rows;
      for (const std::uint32_t to : places_.devices[d]) {
        if (!are_held) add(change, {.rows = rows, .to = static_cast<int>(to)});
        for (int place = 0; are_held && place < node_devices_; ++place) {
          add(change, {.rows = part_of(rows, place, node_devices_),
                       .place = place,
                       .to = static_cast<int>(to)});
        }
      }
    }
  }
}

std::vector<TableMove> HotRowCopies::moves() const {
  std::vector<TableMove> moves;
  for (const Copied& copied : copies_) {
    const bool to_one = copied.to >= 0;
    for (int to = to_one ? copied.to : 0; to < (to_one ? copied.to + 1 : places_.devices_left);
         ++to) {
      const int place = to % node_devices_;
      int from = copied.place < 0 ? -1 : to - place + copied.place;
      bool has = from == to;
      if (copied.device >= 0) {
        const auto& holders = places_.devices[static_cast<std::size_t>(copied.device)];
        has = std::ranges::find(holders, static_cast<std::uint32_t>(to)) != holders.end();
        if (!holders.empty()) from = static_cast<int>(holders.front());
      }
      const int groups = places_.groups - (has ? 1 : 0);
      const TableSlice rows =
          copied.once ? part_of(copied.rows, place, node_devices_) : copied.rows;
      if (groups == 0 || rows.rows == 0) continue;
      moves.push_back({.columns = {rows.table, rows.first_column, rows.dim},
                       .from = from,
                       .to = to,
                       .bytes = groups * rows.rows * copied.row_bytes,
                       .first_row = rows.first_row,
                       .rows = rows.rows});
    }
  }
  return moves;
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
  const std::vector<Table>& running_ones = split_->second.task.tables;
  for (std::size_t t = task.tables.size(); t < tables.size(); ++t) {
    tables[t].rules.kinds = {ShardingKind::kReplicate};
    const int listed = now.listed(static_cast<int>(t));
    const bool in_nodes = tables[t].replica_devices > 1;
    const auto hot = std::ranges::find(hot_rows_, listed, &HotRows::table);
    parts_.push_back({listed, in_nodes ? hot->rows : 0});
    const std::optional<std::size_t> table = before_[static_cast<std::size_t>(listed)];
    before_.emplace_back();
    for (std::size_t b = running.task.tables.size(); table && b < running_ones.size(); ++b) {
      if (std::cmp_equal(was.listed(static_cast<int>(b)), *table) &&
          (running_ones[b].replica_devices > 1) == in_nodes) {
        before_.back() = b;
      }
    }
  }
}

void HotRowsChange::undo(ReplanResult& result) const {
  if (!split_ || !result.result.plan) return;
  std::vector<std::int64_t> hot(task_.tables.size(), 0);
  for (const HotRows& rows : hot_rows_) hot[static_cast<std::size_t>(rows.table)] = rows.all();
  for (TableMove& move : result.moves) {
    int& table = move.columns.table;
    if (std::cmp_less(table, task_.tables.size())) {
      move.first_row += hot[static_cast<std::size_t>(table)];
    } else {
      const Part& part = parts_[static_cast<std::size_t>(table) - task_.tables.size()];
      table = part.table;
      move.first_row += part.first_row;
    }
  }
  std::ranges::move(copies_.moves(), std::back_inserter(result.moves));
  sort_moves(result.moves);
  result.moved_bytes += copies_.bytes();
  result.result.plan = with_hot_rows(task_, hot_rows_, *result.result.plan);
}

std::vector<HotRows> kept_hot_rows(const Task& task, const RunningPlan& running) {
  std::vector<HotRows> kept;
  if (!task.exchange.hot_rows || task.devices == 1 || running.plan.hot_rows.empty()) return kept;
  const std::vector<std::optional<std::size_t>> before = running_tables(task, running.task);
  const bool keeps_node_rows = task.exchange.hot_rows_by_node && has_same_nodes(task, running);
  for (std::size_t t = 0; t < before.size(); ++t) {
    const int table = static_cast<int>(t);
    if (!before[t] || !task.tables[t].row_shares.empty() || !rules_allow_hot_rows(task, table)) {
      continue;
    }
    const auto has = [&](const HotRows& hot) { return std::cmp_equal(hot.table, *before[t]); };
    const auto hot = std::ranges::find_if(running.plan.hot_rows, has);
    if (hot == running.plan.hot_rows.end()) continue;
    const std::int64_t most = task.tables[t].rows - task.devices;
    if (most <= 0) continue;
    HotRows rows{table, std::min(hot->rows, most)};
    if (keeps_node_rows) rows.node_rows = std::min(hot->node_rows, most - rows.rows);
    if (rows.all() > 0) kept.push_back(rows);
  }
  return kept;
}

}  // namespace neuroshard
