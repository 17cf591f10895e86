#include "core/plans/hot_rows.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include "core/tables/access_statistics.h"
#include "core/tables/row_popularity.h"
#include "core/tables/table_rules.h"

namespace neuroshard {
namespace {

/// Adds `rows` times the probabilities that Poisson's distribution of this mean is in each bin.
void add_poisson(double rows, double mean, Histogram& histogram) {
  constexpr double kManyTouches = 512.0;  // The distribution is narrower than a bin.
  if (mean > kManyTouches) {
    histogram[histogram_bin(std::llround(std::min(mean, 1e15)))] += rows;
    return;
  }
  constexpr double kNegligible = 1e-12;
  double density = std::exp(-mean);
  for (std::int64_t touches = 1;; ++touches) {
    density *= mean / static_cast<double>(touches);
    histogram[histogram_bin(touches)] += rows * density;
    if (static_cast<double>(touches) > mean && density < kNegligible) return;
  }
}

/// The shares of lookups that the hottest rows of a table get, and what a batch touches of them.
class HottestRows {
 public:
  HottestRows(const Table& table, std::int64_t rows, const std::vector<PopularRows>& curve)
      : table_(table), rows_(static_cast<double>(rows)), curve_(curve) {
    PopularRows last;
    for (const PopularRows& point : curve_) {
      if (point.rows >= rows_) {
        share_ = last.share +
                 (point.share - last.share) * (rows_ - last.rows) / (point.rows - last.rows);
        break;
      }
      last = point;
    }
    find_parts_of_bins();
  }

  [[nodiscard]] HotParts parts() const {
    Table hot = table_;
    Table others = table_;
    hot.rules = {};
    hot.rows = static_cast<std::int64_t>(rows_);
    others.rows -= hot.rows;
    double lookups = 0.0;
    double of_hot = 0.0;
    const AccessProfile profile = access_profile(table_, static_cast<double>(kDefaultBatchSize));
    for (int bin = 0; bin < kHistogramBins; ++bin) {
      hot.access_histogram[bin] *= of_bin_[bin];
      others.access_histogram[bin] *= 1.0 - of_bin_[bin];
      const double touches = profile.rows[bin] * profile.touches[bin];
      lookups += touches;
      of_hot += touches * of_bin_[bin];
    }
    // A curve says more of lookups than a histogram. Without one, rows that a batch touches are
    // to stay as many.
    const double share =
        table_.popularity.empty() && lookups > 0.0 ? of_hot / lookups : std::min(share_, 1.0);
    set_lookups(share, hot);
    set_lookups(1.0 - share, others);
    if (!table_.popularity.empty()) set_popularity(hot, others);
    return {std::move(hot), std::move(others)};
  }

 private:
  /// By Bayes's rule: the part of the rows in each bin that are hot, if lookups are independent.
  void find_parts_of_bins() {
    const double lookups = static_cast<double>(kDefaultBatchSize) * table_.pooling_factor;
    Histogram all{};
    Histogram hot{};
    PopularRows last;
    for (const PopularRows& point : curve_) {
      const double count = point.rows - last.rows;
      const double of_hot = std::clamp(rows_ - last.rows, 0.0, count);
      Histogram touched{};
      add_poisson(1.0, lookups * (point.share - last.share) / count, touched);
      for (int bin = 0; bin < kHistogramBins; ++bin) {
        all[bin] += count * touched[bin];
        hot[bin] += of_hot * touched[bin];
      }
      last = point;
    }
    double part = 0.0;
    for (int bin = 0; bin < kHistogramBins; ++bin) {
      // Bins that the curve leaves empty are like the one below.
      if (all[bin] > 0.0) part = std::clamp(hot[bin] / all[bin], 0.0, 1.0);
      of_bin_[bin] = part;
    }
  }

  static void set_lookups(double share, Table& table) {
    table.pooling_factor *= share;
    double sum = 0.0;
    for (const double of_bin : table.access_histogram) sum += of_bin;
    if (sum > 0.0 && table.pooling_factor > 0.0) {
      normalize(table.access_histogram);
    } else {
      table.access_histogram = {};
    }
  }

  void set_popularity(Table& hot, Table& others) const {
    hot.popularity.clear();
    others.popularity.clear();
    const double all = curve_.back().share;
    for (const PopularRows& point : curve_) {
      if (point.rows < rows_) {
        if (share_ > 0.0) hot.popularity.push_back({point.rows, point.share / share_});
      } else if (all > share_ && point.rows > rows_) {
        others.popularity.push_back({point.rows - rows_, (point.share - share_) / (all - share_)});
      }
    }
    if (share_ > 0.0 && curve_.back().rows >= rows_) hot.popularity.push_back({rows_, 1.0});
  }

  const Table& table_;
  double rows_;
  const std::vector<PopularRows>& curve_;
  double share_ = 1.0;
  Histogram of_bin_{};
};

}  // namespace

HotParts hot_parts(const Table& table, std::int64_t rows, const std::vector<PopularRows>& curve) {
  return HottestRows(table, rows, curve).parts();
}

HotRowsSplit::HotRowsSplit(const Task& task, const Plan& plan)
    : HotRowsSplit(
          task, plan, [&, parts = HotParts() ](const HotRows& hot) mutable -> auto& {
            const Table& table = task.tables[static_cast<std::size_t>(hot.table)];
            return parts = hot_parts(table, hot.rows, popularity_of(table));
          }) {}

HotRowsSplit::HotRowsSplit(const Task& task, const Plan& plan,
                           const std::function<const HotParts&(const HotRows&)>& parts_of)
    : task_(task), plan_(plan) {
  if (plan.hot_rows.empty()) return;
  auto& [split, replicated] = split_.emplace(task, plan);
  replicated.hot_rows.clear();
  for (const HotRows& hot : plan.hot_rows) {
    const HotParts& parts = parts_of(hot);
    split.tables[static_cast<std::size_t>(hot.table)] = parts.others;
    replicated.replicas.push_back(static_cast<int>(split.tables.size()));
    split.tables.push_back(parts.hot);
  }
}

int HotRowsSplit::listed(int table) const {
  const auto behind = static_cast<std::size_t>(table) - task_.tables.size();
  return static_cast<std::size_t>(table) < task_.tables.size() ? table
                                                               : plan_.hot_rows[behind].table;
}

Plan with_hot_rows(const Task& task, const std::vector<HotRows>& hot_rows, const Plan& split) {
  Plan plan = split;
  std::erase_if(plan.replicas,
                [&](int table) { return static_cast<std::size_t>(table) >= task.tables.size(); });
  for (const HotRows& hot : hot_rows) {
    if (!std::ranges::binary_search(plan.replicas, hot.table)) plan.hot_rows.push_back(hot);
  }
  return plan;
}

std::optional<std::string> hot_rows_problem_of(const Task& task, const HotRows& hot) {
  const Table& table = task.tables[static_cast<std::size_t>(hot.table)];
  const std::string what = "keeps " + std::to_string(hot.rows) + " rows of table " +
                           std::to_string(hot.table) + " on every device";
  if (hot.rows < 1 || hot.rows >= table.rows) {
    return what + ", which has " + std::to_string(table.rows) +
           "; give at least 1 and not all of them, or replicate the table";
  }
  if (!table.row_shares.empty()) {
    return what + ", whose row_shares do not say which rows are popular; keep none of it there";
  }
  return std::nullopt;
}

bool rules_allow_hot_rows(const Task& task, int table) {
  const bool in_group = std::ranges::any_of(task.groups, [&](const TableGroup& group) {
    return std::ranges::find(group.tables, table) != group.tables.end();
  });
  const Table& whole = task.tables[static_cast<std::size_t>(table)];
  return !whole.rules.no_split && !in_group &&
         may_be_sharded(task, whole, ShardingKind::kReplicate);
}

}  // namespace neuroshard
