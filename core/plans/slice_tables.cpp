#include "core/plans/slice_tables.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace neuroshard {
namespace {

/// Shares this near to that of the rows are even ones, rounded.
constexpr double kEven = 1e-9;

constexpr double kStepsOfOctave = 8.0;
/// With fewer samples, all rows that are touched are touched once.
constexpr double kLeastTimes = 0x1p-30;

}  // namespace

Table sized_table_of(const Task& task, const TableSlice& slice) {
  const Table& whole = task.tables[static_cast<std::size_t>(slice.table)];
  // With all rows the share is 1, and the product what it was, to the last bit.
  return {.name = {},
          .rows = slice.rows,
          .dim = slice.dim,
          .pooling_factor = whole.pooling_factor * lookup_share(whole, slice.first_row, slice.rows),
          .memory = whole.memory,
          .features = whole.features,
          // Means of blocks are no means of the table: blocks are summed, and what they add up to
          // is divided where it is received.
          .pooling = whole.pooling == Pooling::kMean && slice.rows != whole.rows ? Pooling::kSum
                                                                                 : whole.pooling,
          .weighted = whole.weighted,
          .once_in_samples = whole.once_in_samples};
}

Table SliceTables::of(const TableSlice& slice) {
  const Table& whole = task_.tables[static_cast<std::size_t>(slice.table)];
  Table table = sized_table_of(task_, slice);
  table.rules = whole.rules;
  table.access_histogram = whole.access_histogram;
  // Deduplicated lookups cannot be rescaled, and are more even.
  if (whole.row_shares.empty() || whole.once_in_samples > 0.0) return table;
  const double times = lookup_share(whole, slice.first_row, slice.rows) /
                       (static_cast<double>(slice.rows) / static_cast<double>(whole.rows));
  if (times == 0.0) {
    table.access_histogram = {};
    return table;
  }
  if (std::abs(times - 1.0) <= kEven) return table;
  const double at = kStepsOfOctave * std::log2(std::max(times, kLeastTimes));
  const double below = std::floor(at);
  const Histogram& fewer = rescaled(slice.table, static_cast<int>(below));
  const Histogram& more = rescaled(slice.table, static_cast<int>(below) + 1);
  for (int bin = 0; bin < kHistogramBins; ++bin) {
    table.access_histogram[bin] = std::lerp(fewer[bin], more[bin], at - below);
  }
  return table;
}

const Histogram& SliceTables::rescaled(int table, int step) {
  const auto [known, is_new] = histograms_.try_emplace({table, step});
  if (is_new) {
    const double times = std::exp2(step / kStepsOfOctave);
    const HistogramScale& scale =
        scales_.try_emplace(step, times * static_cast<double>(kDefaultBatchSize)).first->second;
    known->second = scale(task_.tables[static_cast<std::size_t>(table)]);
  }
  return known->second;
}

}  // namespace neuroshard
