#include "core/plans/deduplicated_task.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "core/plans/slice_tables.h"
#include "core/tables/access_statistics.h"
#include "core/tables/row_popularity.h"
#include "neuroshard/histogram_scale.h"

namespace neuroshard {
namespace {

/// Adds `rows` that are looked up `touches` times on average to the two bins whose means are next
/// to that, so that rows and lookups stay as many.
void add_between_bins(double rows, double touches, Histogram& histogram) {
  int below = 0;
  while (below + 2 < kHistogramBins && mean_touches(below + 1) <= touches) ++below;
  const double low = mean_touches(below);
  const double part = std::clamp((touches - low) / (mean_touches(below + 1) - low), 0.0, 1.0);
  histogram[below] += rows * (1.0 - part);
  histogram[below + 1] += rows * part;
}

/// Makes tables of one task what is left of them.
class Deduplication {
 public:
  explicit Deduplication(const Task& task)
      : devices_(task.devices),
        batch_(static_cast<double>(task.batch_size)),
        of_device_(batch_ / devices_),
        of_batch_(batch_) {
    for (const Table& table : task.tables) {
      if (table.replica_devices == 1 || of_node_) continue;
      of_node_.emplace(batch_ / devices_ * table.replica_devices);
    }
  }

  /// Lookups that are left, over all of them.
  [[nodiscard]] double share_left(const Table& table) const {
    const double lookups = batch_ / devices_ * table.pooling_factor;
    if (lookups == 0.0) return 1.0;
    return std::min(1.0, distinct_rows(table) / lookups);
  }

  /// How often a batch touches rows by what is left; or a node's part of it, of a table whose
  /// replicas are spread over nodes.
  [[nodiscard]] Histogram histogram_left(const Table& table, double share_left) const {
    const bool in_node = table.replica_devices > 1;
    const double devices = in_node ? table.replica_devices : devices_;
    const AccessProfile all = access_profile(table, in_node ? *of_node_ : of_batch_,
                                             in_node ? batch_ / devices_ * devices : batch_);
    Histogram left{};
    if (all.lookups == 0.0) return left;
    // A row that is touched so often is by so many devices, if samples are dealt out at random.
    const auto touched_by = [&](double touches) {
      return devices * -std::expm1(touches * std::log1p(-1.0 / devices));
    };
    double lookups = 0.0;
    for (int bin = 0; bin < kHistogramBins; ++bin) {
      lookups += all.rows[bin] * touched_by(all.touches[bin]);
    }
    // Touches of a bin are their mean, so that the sum is not exact; the share is.
    const double times = share_left * all.lookups / lookups;
    for (int bin = 0; bin < kHistogramBins; ++bin) {
      add_between_bins(all.rows[bin], times * touched_by(all.touches[bin]), left);
    }
    normalize(left);
    return left;
  }

  [[nodiscard]] double samples_of_device() const { return batch_ / devices_; }

 private:
  /// Rows of a device's part of the batch. A curve says more than a histogram.
  [[nodiscard]] double distinct_rows(const Table& table) const {
    return table.popularity.empty()
               ? access_profile(table, of_device_, batch_ / devices_).distinct_rows
               : RowReuse(table, batch_ / devices_).looked_up_lately(1.0).in_hbm;
  }

  double devices_;
  double batch_;
  HistogramScale of_device_;
  HistogramScale of_batch_;
  std::optional<HistogramScale> of_node_;
};

/// Shares of the lookups that are left in parts of a table: popular rows have more duplicates.
std::vector<double> row_shares_left(const Deduplication& deduplication, SliceTables& slices,
                                    const Table& table, int index) {
  const auto parts = static_cast<std::int64_t>(table.row_shares.size());
  std::vector<double> left;
  for (std::int64_t part = 0; part < parts; ++part) {
    const std::int64_t first = part * table.rows / parts;
    const std::int64_t end = std::max(first + 1, (part + 1) * table.rows / parts);
    const Table block = slices.of({index, 0, table.dim, first, end - first});
    left.push_back(table.row_shares[static_cast<std::size_t>(part)] *
                   deduplication.share_left(block));
  }
  const double sum = std::accumulate(left.begin(), left.end(), 0.0);
  for (double& share : left) share /= sum;
  return left;
}

}  // namespace

DeduplicatedTask::DeduplicatedTask(const Task& task, std::span<const int> tables) : task_(task) {
  if (!task.exchange.deduplicate_ids && tables.empty()) return;
  Task replaced = task;
  replaced.exchange.deduplicate_ids = false;
  const Deduplication deduplication(task);
  SliceTables slices(task);
  for (std::size_t t = 0; t < task.tables.size(); ++t) {
    const Table& table = task.tables[t];
    const bool of_plan = std::ranges::binary_search(tables, static_cast<int>(t));
    const bool of_task = task.exchange.deduplicate_ids && table.pooling == Pooling::kNone;
    if ((!of_plan && !of_task) || table.pooling_factor == 0.0) continue;
    Table& left = replaced.tables[t];
    const double share = deduplication.share_left(table);
    left.pooling_factor = share * table.pooling_factor;
    left.pooling = Pooling::kNone;
    left.weighted = table.weighted && of_task;
    left.access_histogram = deduplication.histogram_left(table, share);
    left.once_in_samples = deduplication.samples_of_device();
    if (table.row_shares.empty()) continue;
    left.row_shares = row_shares_left(deduplication, slices, table, static_cast<int>(t));
  }
  replaced_ = std::move(replaced);
}

}  // namespace neuroshard
