#pragma once

#include <array>

#include "neuroshard/task.h"

namespace neuroshard {

/// Sums over Poisson variables X of P(X > k), for k = 0 and the highest count of every histogram
/// bin but the last: 1, 2, 4, ..., 32768. To 1e-9 of what is added.
class PoissonTails {
 public:
  /// From this mean on, P(X > k) is 1 for every k.
  static constexpr double kAboveAll = 36000.0;

  /// `weight` variables of mean `mean`, which is positive: weight * P(X > k). And
  /// `slope` * P(X = k), the derivative of P(X > k) by the mean.
  void add(double mean, double log_mean, double weight, double slope = 0.0);
  /// `weight` variables above all k.
  void add_above_all(double weight);

  [[nodiscard]] const std::array<double, kHistogramBins>& sums() const { return sums_; }

 private:
  void add_of_small_mean(double mean, double weight, double slope);
  void add_small_counts(double mean, double weight, double slope);
  void add_large_counts(double mean, double log_mean, double weight, double slope);

  std::array<double, kHistogramBins> sums_{};
};

}  // namespace neuroshard
