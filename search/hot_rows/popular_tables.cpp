#include "search/hot_rows/popular_tables.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <tuple>

#include "core/plans/equal_blocks.h"
#include "core/tables/row_popularity.h"

namespace neuroshard {
namespace {

/// [tables]: those of a plan.
std::vector<HotRows> by_table(const Task& task, const std::vector<HotRows>& hot_rows) {
  std::vector<HotRows> rows(task.tables.size());
  for (const HotRows& hot : hot_rows) rows[static_cast<std::size_t>(hot.table)] = hot;
  return rows;
}

/// Slices of tables that have more or fewer rows than before.
class RowScale {
 public:
  /// `before`, `after`: hot rows, by table, which slices have not.
  RowScale(const Task& task, const Plan& plan, const std::vector<HotRows>& before,
           const std::vector<HotRows>& after)
      : tables_(task.tables.size()) {
    for (std::size_t t = 0; t < tables_.size(); ++t) {
      tables_[t].old_rows = task.tables[t].rows - before[t].all();
      tables_[t].new_rows = task.tables[t].rows - after[t].all();
    }
    for (const TableSlice& slice : plan.slices) {
      OfTable& of = tables_[static_cast<std::size_t>(slice.table)];
      of.block = std::max(of.block, slice.rows);
    }
    for (const TableSlice& slice : plan.slices) {
      OfTable& of = tables_[static_cast<std::size_t>(slice.table)];
      of.is_equal = of.is_equal && slice.first_row % of.block == 0;
    }
  }

  [[nodiscard]] TableSlice scaled(TableSlice slice) const {
    const OfTable& of = tables_[static_cast<std::size_t>(slice.table)];
    const std::int64_t first = of.moved(slice.first_row);
    slice.rows = of.moved(slice.first_row + slice.rows) - first;
    slice.first_row = first;
    return slice;
  }

 private:
  struct OfTable {
    std::int64_t old_rows = 0;
    std::int64_t new_rows = 0;
    std::int64_t block = 0;  ///< Rows of the largest.
    bool is_equal = true;    ///< Blocks are equal, and stay so to the row.

    [[nodiscard]] std::int64_t moved(std::int64_t end) const {
      if (end == old_rows) return new_rows;
      const auto blocks = static_cast<int>((old_rows + block - 1) / block);
      if (is_equal && rows_of_block(old_rows, blocks) == block) {
        return std::min(new_rows, end / block * rows_of_block(new_rows, blocks));
      }
      return static_cast<std::int64_t>(static_cast<double>(end) / static_cast<double>(old_rows) *
                                       static_cast<double>(new_rows));
    }
  };
  std::vector<OfTable> tables_;
};

}  // namespace

PopularTables::PopularTables(const Task& task)
    : task_(task), curves_(task.tables.size()), most_rows_(task.tables.size(), 0) {
  constexpr std::size_t kMostTables = 1000;
  for (std::size_t t = 0; t < task.tables.size() && task.devices > 1; ++t) {
    const Table& table = task.tables[t];
    if (table.pooling_factor > 0.0 && table.rows > task.devices && table.row_shares.empty() &&
        rules_allow_hot_rows(task, static_cast<int>(t))) {
      by_traffic_.push_back(static_cast<int>(t));
    }
  }
  // Tables that are alike in all of this follow each other.
  std::ranges::stable_sort(by_traffic_, {}, [&](int t) {
    const Table& table = task.tables[static_cast<std::size_t>(t)];
    return std::tuple(-table.pooling_factor * table.dim, table.rows, table.dim);
  });
  by_traffic_.resize(std::min(by_traffic_.size(), kMostTables));
  for (const int table : by_traffic_) {
    const auto t = static_cast<std::size_t>(table);
    most_rows_[t] = task.tables[t].rows - task.devices;
    curves_[t] = popularity_of(task.tables[t]);
  }
}

std::int64_t PopularTables::rows(int table, double lookups) const {
  const auto t = static_cast<std::size_t>(table);
  const double of_batch = static_cast<double>(task_.batch_size) * task_.tables[t].pooling_factor;
  PopularRows last;
  for (const PopularRows& point : curves_[t]) {
    const double of_row = of_batch * (point.share - last.share) / (point.rows - last.rows);
    if (of_row < lookups) break;
    last = point;
  }
  return limited(table, last.rows);
}

std::int64_t PopularTables::limited(int table, double rows) const {
  const auto most = static_cast<double>(most_rows(table));
  return static_cast<std::int64_t>(std::clamp(std::floor(rows), 0.0, most));
}

const HotParts& PopularTables::parts(const HotRows& hot) {
  const auto t = static_cast<std::size_t>(hot.table);
  const std::tuple key(hot.table, hot.rows, hot.node_rows);
  const auto place = parts_.lower_bound(key);
  if (place != parts_.end() && place->first == key) return place->second;
  return parts_
      .emplace_hint(place, key, hot_parts(task_.tables[t], hot, curves_[t], task_.devices_per_node))
      ->second;
}

Plan with_other_hot_rows(const Task& task, const Plan& plan, const std::vector<HotRows>& hot_rows) {
  const std::vector<HotRows> before = by_table(task, plan.hot_rows);
  const std::vector<HotRows> after = by_table(task, hot_rows);
  const RowScale scale(task, plan, before, after);
  Plan changed = plan;
  std::vector<char> stays(task.tables.size(), 0);
  for (TableSlice& slice : changed.slices) {
    slice = scale.scaled(slice);
    if (slice.rows < 1) stays[static_cast<std::size_t>(slice.table)] = 1;
  }
  changed.hot_rows.clear();
  for (std::size_t t = 0; t < task.tables.size(); ++t) {
    const HotRows& rows = stays[t] != 0 ? before[t] : after[t];
    if (rows.all() > 0) changed.hot_rows.push_back(rows);
  }
  for (std::size_t slice = 0; slice < changed.slices.size(); ++slice) {
    if (stays[static_cast<std::size_t>(changed.slices[slice].table)] != 0) {
      changed.slices[slice] = plan.slices[slice];
    }
  }
  std::erase_if(changed.replicas, [&](int table) {
    const auto t = static_cast<std::size_t>(table);
    if (after[t].all() == 0) return false;
    const TableSlice others{table, 0, task.tables[t].dim, 0, task.tables[t].rows - after[t].all()};
    for_each_block(others, 0, task.devices, [&](const TableSlice& block, int device) {
      auto& shard = changed.shards[static_cast<std::size_t>(device)];
      shard.push_back(static_cast<int>(changed.slices.size()));
      changed.slices.push_back(block);
    });
    return true;
  });
  return changed;
}

}  // namespace neuroshard
