#pragma once

#include <span>

namespace neuroshard {

/// A gamma distribution of scale 1 and large shape, and the Poisson variables whose tails are its
/// distribution function: P(Poisson(x) > k) = P(Gamma(k + 1) < x).
class GammaTail {
 public:
  static constexpr double kLeastShape = 28.0;

  GammaTail() = default;
  explicit GammaTail(double shape);

  struct Value {
    double below = 0.0;    ///< P(T < x)
    double density = 0.0;  ///< Density of T at x; P(Poisson(x) = shape - 1) for a whole shape.
  };
  /// To 2e-8, and 1e-6 for the density. `x` is positive.
  [[nodiscard]] Value at(double x, double log_x) const;

  /// `sum` and P(T < x) of each `x`, added up in their order.
  [[nodiscard]] double sum_below(std::span<const double> x, std::span<const double> log_x,
                                 double sum) const;

  /// P(T < x) is taken to be 0 up to here, where it is 1e-9: less, since these are many ranks,
  [[nodiscard]] double lowest() const { return lowest_; }
  /// and 1 from here on, where it is 1 - 2e-8.
  [[nodiscard]] double highest() const { return highest_; }
  /// P(T < x) is 0.999 here.
  [[nodiscard]] double high() const { return high_; }

 private:
  [[nodiscard]] Value between(double x, double log_x) const;

  double shape_ = 0.0;
  double inverse_shape_ = 0.0;
  double root_shape_ = 0.0;
  double log_shape_ = 0.0;
  double mode_density_ = 0.0;    ///< 1 / sqrt(2 pi shape)
  double density_factor_ = 0.0;  ///< shape / (1 + 1 / (12 shape)), from Stirling's series
  double lowest_ = 0.0;
  double highest_ = 0.0;
  double high_ = 0.0;
};

}  // namespace neuroshard
