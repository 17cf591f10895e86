#include "core/tables/gamma_tail.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>

namespace neuroshard {
namespace {

// exp(-y) and e^(z^2) erfc(z) by Taylor's series at near points, which have all their digits, take
// half as long as those of libraries, and are the same on every machine. Numbers of the tables are
// computed by the compiler.

constexpr double kMostExponent = 20.0;  ///< Beyond what lowest() and highest() let through.
constexpr int kPointsPerUnit = 32;

/// e^(-i / 32)
constexpr auto kFallingExp = [] {
  std::array<double, static_cast<std::size_t>(kMostExponent) * kPointsPerUnit + 1> values{};
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double y = static_cast<double>(i) / kPointsPerUnit;
    // e^y = (e^(y / 1024))^1024, in more digits than are kept.
    const long double small = static_cast<long double>(y) / 1024;
    long double power = 1.0L;
    for (int n = 18; n > 0; --n) power = 1.0L + power * small / n;
    for (int n = 0; n < 10; ++n) power *= power;
    values[i] = static_cast<double>(1.0L / power);
  }
  return values;
}();

/// The known point that is nearest to `x`, at least 0.
int nearest_point(double x) {
  const double rounded_up = x * kPointsPerUnit + 0.5;
  return static_cast<int>(rounded_up);
}

/// e^-y of y in [0, kMostExponent].
double falling_exp(double y) {
  const int point = nearest_point(y);
  const double r = static_cast<double>(point) / kPointsPerUnit - y;
  const double r2 = r * r;
  const double low = 1.0 + r + r2 * (0.5 + r * (1.0 / 6.0));
  const double high = 1.0 / 24.0 + r * (1.0 / 120.0) + r2 * (1.0 / 720.0);
  return kFallingExp[static_cast<std::size_t>(point)] * (low + r2 * r2 * high);
}

constexpr int kTaylor = 8;
constexpr double kMostRoot = 4.4721;                                     ///< sqrt(kMostExponent).
constexpr int kErfcPoints = static_cast<int>(4.5 * kPointsPerUnit) + 1;  // sqrt(kMostExponent)

/// f(z) = e^(z^2) erfc(z) around i / 32, of which f' = 2 z f - 2 / sqrt(pi): that gives all powers,
/// and, downwards, where errors shrink, f at the next point. The first is a continued fraction.
constexpr auto kScaledErfc = [] {
  constexpr long double kTwoOverRootPi = 2.0L * std::numbers::inv_sqrtpi_v<long double>;
  constexpr int kManyTerms = 30;
  std::array<std::array<double, kTaylor>, kErfcPoints> points{};
  const long double last = static_cast<long double>(kErfcPoints - 1) / kPointsPerUnit;
  long double below = last;
  for (int n = 100; n > 0; --n) below = last + n / 2.0L / below;
  long double value = std::numbers::inv_sqrtpi_v<long double> / below;
  for (int point = kErfcPoints - 1; point >= 0; --point) {
    const long double z = static_cast<long double>(point) / kPointsPerUnit;
    std::array<long double, kManyTerms> terms{value, 2.0L * z * value - kTwoOverRootPi};
    for (int n = 1; n + 1 < kManyTerms; ++n) {
      const auto at = static_cast<std::size_t>(n);
      terms[at + 1] = 2.0L * (z * terms[at] + terms[at - 1]) / (n + 1);
    }
    value = 0.0L;
    for (std::size_t n = kManyTerms; n-- > 0;) value = terms[n] - value / kPointsPerUnit;
    for (std::size_t n = 0; n < kTaylor; ++n) {
      points[static_cast<std::size_t>(point)][n] = static_cast<double>(terms[n]);
    }
  }
  return points;
}();

/// e^(z^2) erfc(z) of z in [0, sqrt(kMostExponent)].
double scaled_erfc(double z) {
  const int point = nearest_point(z);
  const double r = z - static_cast<double>(point) / kPointsPerUnit;
  const std::array<double, kTaylor>& c = kScaledErfc[static_cast<std::size_t>(point)];
  const double r2 = r * r;
  const double low = (c[0] + c[1] * r) + r2 * (c[2] + c[3] * r);
  const double high = (c[4] + c[5] * r) + r2 * (c[6] + c[7] * r);
  return low + r2 * r2 * high;
}

/// c[0] + c[1] x + c[2] x^2 + ...
template <std::size_t kSize>
double polynomial(const std::array<double, kSize>& c, double x) {
  double value = 0.0;
  for (std::size_t i = kSize; i-- > 0;) value = value * x + c[i];
  return value;
}

/// The first three terms of Temme's expansion by 1 / a (DLMF 8.12.7 to 8.12.10), each by powers of
/// eta. `distance` is x / a - 1.
double expansion(double inverse_a, double eta, double distance) {
  constexpr std::array kZeroth = {-1.0 / 3.0,  1.0 / 12.0,   -2.0 / 135.0,
                                  1.0 / 864.0, 1.0 / 2835.0, -139.0 / 777600.0};
  constexpr std::array kFirst = {-1.0 / 540.0, -1.0 / 288.0, 1.0 / 378.0, -77.0 / 77760.0};
  constexpr std::array kSecond = {25.0 / 6048.0, -139.0 / 51840.0};
  constexpr double kNear = 0.3;  // Farther away the closed form of the first has all its digits.
  const double first =
      std::fabs(eta) > kNear ? 1.0 / distance - 1.0 / eta : polynomial(kZeroth, eta);
  return first + (polynomial(kFirst, eta) + polynomial(kSecond, eta) * inverse_a) * inverse_a;
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
      inverse_shape_(1.0 / shape),
      root_shape_(std::sqrt(shape)),
      log_shape_(std::log(shape)),
      mode_density_(1.0 / std::sqrt(2.0 * std::numbers::pi * shape)),
      density_factor_(shape / (1.0 + 1.0 / (12.0 * shape))),
      lowest_(quantile(shape, -6.1)),
      highest_(quantile(shape, 5.5)),
      high_(quantile(shape, 3.1)) {}

/// Requires x between lowest() and highest().
GammaTail::Value GammaTail::between(double x, double log_x) const {
  const double distance = x * inverse_shape_ - 1.0;
  const double half_eta_squared = std::max(0.0, distance - (log_x - log_shape_));
  const double root = std::sqrt(half_eta_squared);
  const double falling = falling_exp(std::min(kMostExponent, shape_ * half_eta_squared));
  const double half = 0.5 * falling * scaled_erfc(std::min(kMostRoot, root_shape_ * root));
  const double eta = std::copysign(std::numbers::sqrt2 * root, distance);
  const double density = falling * mode_density_;
  return {(distance < 0.0 ? half : 1.0 - half) - density * expansion(inverse_shape_, eta, distance),
          density};
}

GammaTail::Value GammaTail::at(double x, double log_x) const {
  if (x <= lowest_) return {};
  if (x >= highest_) return {1.0, 0.0};
  const auto [below, density] = between(x, log_x);
  return {below, density * density_factor_ / x};
}

double GammaTail::sum_below(std::span<const double> x, std::span<const double> log_x,
                            double sum) const {
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i] <= lowest_) continue;
    sum += x[i] >= highest_ ? 1.0 : between(x[i], log_x[i]).below;
  }
  return sum;
}

}  // namespace neuroshard
