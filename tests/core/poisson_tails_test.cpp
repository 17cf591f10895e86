#include "core/poisson_tails.h"

#include <gtest/gtest.h>

#include <cmath>

namespace neuroshard {
namespace {

double probability(double mean, int n) {
  return std::exp(n * std::log(mean) - mean - std::lgamma(n + 1.0));
}

/// P(X > k), the terms of the definition.
double above(double mean, int k) {
  const int last = static_cast<int>(mean + 12.0 * std::sqrt(mean) + 40.0);
  double sum = 0.0;
  for (int n = k + 1; n <= last; ++n) sum += probability(mean, n);
  return sum;
}

int edge(int bin) { return bin == 0 ? 0 : 1 << (bin - 1); }

TEST(PoissonTails, AreSumsOfTheDefinition) {
  for (const double mean :
       {1e-9, 0.01, 0.5,   0.51,  1.0,   3.9,    4.1,    17.0,    31.0,    33.0,
        60.0, 99.0, 101.0, 130.0, 500.0, 2050.0, 8000.0, 32000.0, 32769.0, 33500.0}) {
    PoissonTails tails;
    tails.add(mean, std::log(mean), 1.0);
    PoissonTails densities;
    densities.add(mean, std::log(mean), 0.0, 1.0);
    for (int bin = 0; bin < kHistogramBins; ++bin) {
      SCOPED_TRACE(::testing::Message() << mean << ", k " << edge(bin));
      // lgamma() itself has a dozen digits of the exponent here.
      const double tolerance = 2e-9 + 1e-14 * mean;
      EXPECT_NEAR(tails.sums()[bin], above(mean, edge(bin)), tolerance);
      EXPECT_NEAR(densities.sums()[bin], probability(mean, edge(bin)), 1e-6 + tolerance);
    }
  }
}

TEST(PoissonTails, OfSmallMeansKeepTheirDigits) {
  PoissonTails tails;
  tails.add(1e-6, std::log(1e-6), 1.0);
  EXPECT_NEAR(tails.sums()[1] / 5e-13, 1.0, 1e-6);  // mean^2 / 2
}

TEST(PoissonTails, AddUp) {
  PoissonTails tails;
  tails.add_above_all(3.0);
  tails.add(2.0, std::log(2.0), 10.0);
  EXPECT_NEAR(tails.sums()[0], 3.0 + 10.0 * (1.0 - std::exp(-2.0)), 1e-12);
  EXPECT_NEAR(tails.sums()[16], 3.0, 1e-12);
  PoissonTails certain;
  certain.add(PoissonTails::kAboveAll, std::log(PoissonTails::kAboveAll), 1.0);
  for (const double sum : certain.sums()) EXPECT_NEAR(sum, 1.0, 1e-12);
}

}  // namespace
}  // namespace neuroshard
