#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "neuroshard/task.h"

#pragma GCC visibility push(default)
namespace neuroshard {

inline constexpr double kDefaultZipfExponent = 1.05;

/// Expected access histogram of a table of which only the size is published, if the popularity of
/// its rows follows Zipf's law: the row of rank r is looked up in proportion to r^-exponent.
/// Bins as in Table::access_histogram. Sums to 1; all zero if `pooling_factor` is 0. Formula in
/// docs/zipf_histogram.md. Takes a few microseconds, also for billions of rows.
/// Throws Error unless rows is in [1, 2^40], the pooling factor in [0, 2^40], the exponent in
/// [0, 16] and the batch size in [1, 2^40].
[[nodiscard]] std::array<double, kHistogramBins> zipf_histogram(
    std::int64_t rows, double pooling_factor, double exponent = kDefaultZipfExponent,
    std::int64_t batch_size = kDefaultBatchSize);

/// Table::popularity by Zipf's law, with points a quarter of their rank apart.
/// Throws Error as zipf_histogram() does.
[[nodiscard]] std::vector<PopularRows> zipf_popularity(std::int64_t rows,
                                                       double exponent = kDefaultZipfExponent);

}  // namespace neuroshard
#pragma GCC visibility pop
