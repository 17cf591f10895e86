#pragma once

#include <array>
#include <cstdint>

#include "neuroshard/histogram_scale.h"
#include "neuroshard/task.h"

namespace neuroshard {

/// Rows of the access histogram's bin `bin` are touched first_touches(bin) ... last_touches(bin)
/// times by one batch: 1, 2, 3-4, 5-8, ..., 16385-32768; the last bin has no upper end.
[[nodiscard]] constexpr std::int64_t last_touches(int bin) {
  return bin < kHistogramBins - 1 ? std::int64_t{1} << bin : INT64_MAX;
}
[[nodiscard]] constexpr std::int64_t first_touches(int bin) {
  return bin == 0 ? 1 : (std::int64_t{1} << (bin - 1)) + 1;
}

using Histogram = std::array<double, kHistogramBins>;

/// Makes the shares of the bins, of which one at least is positive, sum up to 1.
void normalize(Histogram& histogram);

/// The bin of a row that is touched `touches` >= 1 times.
[[nodiscard]] int histogram_bin(std::int64_t touches);

/// Mean touches of a bin's rows if their number falls off as 1/touches within the bin. Within 6 %
/// of what the published aggregate histograms of rows and of accesses give for the bins below 65
/// touches.
[[nodiscard]] double mean_touches(int bin);

/// How one batch spreads over a table's rows, from its pooling factor and access histogram.
struct AccessProfile {
  double lookups = 0.0;        ///< Lookups in one batch.
  double distinct_rows = 0.0;  ///< Rows that the batch touches; at most the table's rows.
  /// Number of rows in each bin, and how often each is touched. rows * touches summed over the bins
  /// is `lookups`.
  std::array<double, kHistogramBins> rows{};
  std::array<double, kHistogramBins> touches{};
};

/// Profile of a batch of `samples` samples, which the histogram is for. A table whose histogram is
/// all zero although it is looked up is taken to be touched evenly.
[[nodiscard]] AccessProfile access_profile(const Table& table, double samples);
/// Profile of a table with this histogram.
[[nodiscard]] AccessProfile access_profile(std::int64_t rows, double pooling_factor,
                                           const Histogram& shares, double samples);
/// A table in `samples` samples, which `scale` is made for.
[[nodiscard]] inline AccessProfile access_profile(const Table& table, const HistogramScale& scale,
                                                  double samples) {
  return access_profile(table.rows, table.pooling_factor, scale(table), samples);
}

}  // namespace neuroshard
