#include "core/tables/gamma_tail.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

namespace neuroshard {
namespace {

/// x^(shape + n) e^-x / Gamma(shape + n + 1), whose sum over n is P(T < x).
double term(double shape, double x, int n) {
  return std::exp((shape + n) * std::log(x) - x - std::lgamma(shape + n + 1.0));
}

double below(double shape, double x) {
  const int last = static_cast<int>(std::max(0.0, x - shape) + 14.0 * std::sqrt(x) + 40.0);
  double sum = 0.0;
  for (int n = last; n >= 0; --n) sum += term(shape, x, n);
  return sum;
}

TEST(GammaTail, IsTheSeries) {
  for (const double shape : {28.0, 30.5, 33.0, 65.0, 128.05, 513.0, 4097.0, 32768.0, 32769.0}) {
    const GammaTail tail(shape);
    for (const double deviations : {-9.0, -6.0, -4.0, -1.0, -0.01, 0.0, 0.5, 3.0, 5.4, 6.0, 9.0}) {
      const double x = shape + deviations * std::sqrt(shape);
      if (x <= 0.0) continue;
      SCOPED_TRACE(::testing::Message() << shape << ", " << x);
      // lgamma() itself has a dozen digits of the exponent here.
      const double tolerance = 3e-8 + 1e-13 * shape;
      const auto [value, density] = tail.at(x, std::log(x));
      EXPECT_NEAR(value, below(shape, x), tolerance);
      EXPECT_NEAR(density, term(shape, x, 0) * shape / x, 1e-6 + tolerance);
    }
  }
}

/// The first terms of Temme's expansion, by the functions of the library, of a large shape: what is
/// left out is below 1e-11 there.
double expanded(double shape, double x) {
  const double mu = x / shape - 1.0;
  const double eta = std::copysign(std::sqrt(2.0 * (mu - std::log1p(mu))), mu);
  const double first = 1.0 / mu - 1.0 / eta;
  const double second =
      1.0 / std::pow(eta, 3) - 1.0 / std::pow(mu, 3) - 1.0 / std::pow(mu, 2) - 1.0 / (12.0 * mu);
  return 0.5 * std::erfc(-eta * std::sqrt(shape / 2.0)) -
         std::exp(-0.5 * shape * eta * eta) / std::sqrt(2.0 * std::numbers::pi * shape) *
             (first + second / shape);
}

TEST(GammaTail, HasMoreDigitsWhereTheShapeIsLarge) {
  constexpr double kShape = 32769.0;
  const GammaTail tail(kShape);
  for (double deviations = -5.9; deviations < 5.4; deviations += 0.037) {
    if (std::fabs(deviations) < 1.0) continue;  // There the formula above has no digits left.
    const double x = kShape + deviations * std::sqrt(kShape);
    EXPECT_NEAR(tail.at(x, std::log(x)).below, expanded(kShape, x), 1e-9) << deviations;
  }
}

TEST(GammaTail, SumsAreThoseOfSingleValues) {
  const GammaTail tail(129.0);
  std::vector<double> x;
  std::vector<double> log_x;
  double sum = 3.0;
  for (double at = 40.0; at < 240.0; at += 1.7) {
    x.push_back(at);
    log_x.push_back(std::log(at));
    sum += tail.at(at, log_x.back()).below;
  }
  EXPECT_EQ(tail.sum_below(x, log_x, 3.0), sum);
}

TEST(GammaTail, HasItsBoundsWhereItSays) {
  for (const double shape : {28.0, 33.0, 1025.0, 32769.0}) {
    const GammaTail tail(shape);
    EXPECT_NEAR(below(shape, tail.lowest()), 0.0, 2e-9);
    EXPECT_NEAR(below(shape, tail.high()), 0.999, 1e-4);
    EXPECT_NEAR(below(shape, tail.highest()), 1.0, 3e-8);
    EXPECT_EQ(tail.at(tail.lowest(), std::log(tail.lowest())).below, 0.0);
    EXPECT_EQ(tail.at(tail.highest(), std::log(tail.highest())).below, 1.0);
  }
}

}  // namespace
}  // namespace neuroshard
