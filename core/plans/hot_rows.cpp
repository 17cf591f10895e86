#include "core/plans/hot_rows.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <tuple>
#include <utility>
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

  /// The hottest rows, and the others.
  [[nodiscard]] std::pair<Table, Table> parts() const {
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
  /// The curve of the hottest rows.
  [[nodiscard]] std::vector<PopularRows> curve_of_hot() const {
    std::vector<PopularRows> curve;
    for (const PopularRows& point : curve_) {
      if (point.rows < rows_ && share_ > 0.0) curve.push_back({point.rows, point.share / share_});
    }
    if (share_ > 0.0 && curve_.back().rows >= rows_) curve.push_back({rows_, 1.0});
    return curve;
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
    hot.popularity = curve_of_hot();
    others.popularity.clear();
    const double all = curve_.back().share;
    for (const PopularRows& point : curve_) {
      if (all > share_ && point.rows > rows_) {
        others.popularity.push_back({point.rows - rows_, (point.share - share_) / (all - share_)});
      }
    }
  }

  const Table& table_;
  double rows_;
  const std::vector<PopularRows>& curve_;
  double share_ = 1.0;
  Histogram of_bin_{};
};

}  // namespace

HotParts hot_parts(const Table& table, const HotRows& rows, const std::vector<PopularRows>& curve,
                   int node_devices) {
  const HottestRows hottest(table, rows.all(), curve);
  HotParts parts;
  std::tie(parts.hot.emplace(), parts.others) = hottest.parts();
  if (rows.node_rows == 0) return parts;
  parts.in_nodes = std::move(parts.hot);
  parts.hot.reset();
  if (rows.rows > 0) {
    const std::vector<PopularRows> of_both = hottest.curve_of_hot();
    std::tie(parts.hot.emplace(), *parts.in_nodes) =
        HottestRows(Table(*parts.in_nodes), rows.rows, of_both).parts();
  }
  parts.in_nodes->replica_devices = node_devices;
  return parts;
}

HotRowsSplit::HotRowsSplit(const Task& task, const Plan& plan)
    : HotRowsSplit(
          task, plan, [&, parts = HotParts() ](const HotRows& hot) mutable -> auto& {
            const Table& table = task.tables[static_cast<std::size_t>(hot.table)];
            return parts = hot_parts(table, hot, popularity_of(table), task.devices_per_node);
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
    for (const std::optional<Table>* part : {&parts.hot, &parts.in_nodes}) {
      if (!*part) continue;
      replicated.replicas.push_back(static_cast<int>(split.tables.size()));
      split.tables.push_back(**part);
      listed_.push_back(hot.table);
    }
  }
}

int HotRowsSplit::listed(int table) const {
  const auto t = static_cast<std::size_t>(table);
  return t < task_.tables.size() ? table : listed_[t - task_.tables.size()];
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
  const std::string of = " rows of table " + std::to_string(hot.table);
  const std::string what =
      hot.node_rows == 0 ? "keeps " + std::to_string(hot.rows) + of + " on every device"
                         : "keeps " + std::to_string(hot.rows) + of + " on every device and " +
                               std::to_string(hot.node_rows) + " once on each node";
  const bool more =
      std::min(hot.rows, hot.node_rows) >= 0 && hot.rows < table.rows && hot.node_rows < table.rows;
  if (!more || hot.all() < 1 || hot.all() >= table.rows) {
    return what + ", which has " + std::to_string(table.rows) +
           "; give at least 1 and not all of them, or replicate the table";
  }
  if (hot.node_rows > 0 && !task.exchange.hot_rows_by_node) {
    return what +
           ", but the task's exchange does not say hot_rows_by_node; say so if the runtime can, or "
           "keep them on every device";
  }
  if (hot.node_rows > 0 && !fills_nodes(task)) {
    return what + ", but " + std::to_string(task.devices) + " devices do not fill nodes of " +
           std::to_string(task.devices_per_node) + "; keep them on every device";
  }
  if (!table.row_shares.empty()) {
    return what + ", whose row_shares do not say which rows are popular; keep none of it there";
  }
  return std::nullopt;
}

bool fills_nodes(const Task& task) {
  return task.devices_per_node > 1 && task.devices > task.devices_per_node &&
         task.devices % task.devices_per_node == 0;
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
