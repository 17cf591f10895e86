#pragma once

#include <array>

#include "neuroshard/task.h"

#pragma GCC visibility push(default)
namespace neuroshard {

/// Turns access histograms of some samples into those of another number of samples. For fewer
/// samples, each lookup is kept with the same probability. For more samples, rows go on being
/// looked up as often as before and others join them. Formulas and errors: docs/zipf_histogram.md.
class HistogramScale {
 public:
  /// Throws Error unless `samples` and `of_samples`, which need not be whole, are positive and at
  /// most kMaxBatchSize.
  explicit HistogramScale(double samples,
                          double of_samples = static_cast<double>(kDefaultBatchSize));

  /// The histogram of `table`, which is of `of_samples`, in `samples` samples. Sums to 1; all zero
  /// if the table's is. Table::once_in_samples takes precedence.
  [[nodiscard]] std::array<double, kHistogramBins> operator()(const Table& table) const;

 private:
  using Histogram = std::array<double, kHistogramBins>;

  [[nodiscard]] Histogram thinned(const Histogram& shares) const;
  [[nodiscard]] Histogram grown(const Table& table) const;

  double of_samples_;
  double factor_;  ///< Samples over `of_samples_`.
  /// Below 1: of the rows in a bin, the share that is in each bin afterwards.
  std::array<Histogram, kHistogramBins> kept_{};
};

}  // namespace neuroshard
#pragma GCC visibility pop
