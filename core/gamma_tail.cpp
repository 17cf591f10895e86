#include "core/gamma_tail.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>

namespace neuroshard {
namespace {

/// c[0] + c[1] x + c[2] x^2 + ...
template <std::size_t kSize>
double polynomial(const std::array<double, kSize>& c, double x) {
  double value = 0.0;
  for (std::size_t i = kSize; i-- > 0;) value = value * x + c[i];
  return value;
}

/// The first three terms of Temme's expansion by 1 / a (DLMF 8.12.7 to 8.12.10), each by powers of
/// eta. `distance` is x / a - 1.
double expansion(double a, double eta, double distance) {
  constexpr std::array kZeroth = {-1.0 / 3.0,  1.0 / 12.0,   -2.0 / 135.0,
                                  1.0 / 864.0, 1.0 / 2835.0, -139.0 / 777600.0};
  constexpr std::array kFirst = {-1.0 / 540.0, -1.0 / 288.0, 1.0 / 378.0, -77.0 / 77760.0};
  constexpr std::array kSecond = {25.0 / 6048.0, -139.0 / 51840.0};
  constexpr double kNear = 0.3;  // Farther away the closed form of the first has all its digits.
  const double first =
      std::fabs(eta) > kNear ? 1.0 / distance - 1.0 / eta : polynomial(kZeroth, eta);
  return first + (polynomial(kFirst, eta) + polynomial(kSecond, eta) / a) / a;
}

/// Where so many standard deviations of the normal distribution are (Wilson and Hilferty).
double quantile(double shape, double deviations) {
  const double ninth = 1.0 / (9.0 * shape);
  const double root = 1.0 - ninth + deviations * std::sqrt(ninth);
  return shape * root * root * root;
}

}  // namespace

GammaTail::GammaTail(double shape)
    : shape_(shape),
      log_shape_(std::log(shape)),
      mode_density_(1.0 / std::sqrt(2.0 * std::numbers::pi * shape)),
      density_factor_(shape / (1.0 + 1.0 / (12.0 * shape))),
      lowest_(quantile(shape, -6.1)),
      highest_(quantile(shape, 5.5)),
      high_(quantile(shape, 3.1)) {}

GammaTail::Value GammaTail::at(double x, double log_x) const {
  if (x <= lowest_) return {};
  if (x >= highest_) return {1.0, 0.0};
  const double distance = x / shape_ - 1.0;
  const double half_eta_squared = std::max(0.0, distance - (log_x - log_shape_));
  const double exponent = shape_ * half_eta_squared;
  const double eta = std::copysign(std::sqrt(2.0 * half_eta_squared), distance);
  const double density = std::exp(-exponent) * mode_density_;
  return {0.5 * std::erfc(std::copysign(std::sqrt(exponent), -distance)) -
              density * expansion(shape_, eta, distance),
          density * density_factor_ / x};
}

}  // namespace neuroshard
