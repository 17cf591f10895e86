#include "neuroshard/zipf_histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "neuroshard/error.h"
#include "repetitions.h"

namespace neuroshard {
namespace {

using Histogram = std::array<double, kHistogramBins>;

double sum(const Histogram& histogram) {
  return std::accumulate(histogram.begin(), histogram.end(), 0.0);
}

/// Draws every lookup of many batches; how many rows were touched so and so often.
Histogram count_draws(int rows, int lookups, double exponent, std::uint64_t batches) {
  std::vector<double> popularity;
  for (int rank = 1; rank <= rows; ++rank) popularity.push_back(std::pow(rank, -exponent));
  std::discrete_distribution<int> draw(popularity.begin(), popularity.end());
  std::mt19937_64 random(7);
  Histogram touched{};
  for (std::uint64_t batch = 0; batch < batches; ++batch) {
    std::vector<unsigned> count(static_cast<std::size_t>(rows));
    for (int i = 0; i < lookups; ++i) ++count[static_cast<std::size_t>(draw(random))];
    for (const unsigned n : count) {
      // 1, 2, 3-4, 5-8, ..., more than 32768.
      if (n > 0) ++touched[std::min(16U, static_cast<unsigned>(std::bit_width(n - 1)))];
    }
  }
  return touched;
}

struct Case {
  int rows;
  double pooling_factor;
  double exponent;
  int batch;
};

class ZipfHistogram : public ::testing::TestWithParam<Case> {};

TEST_P(ZipfHistogram, AgreesWithCountedDraws) {
  const auto [rows, pooling_factor, exponent, batch] = GetParam();
  const int lookups = static_cast<int>(pooling_factor * batch);
  const Histogram counted = count_draws(rows, lookups, exponent, testing::repetitions(40));
  const double touched = sum(counted);
  // Noise of the draws. Their number is fixed, unlike in the formula: that makes the rest.
  const double tolerance = 5.0 * 0.5 / std::sqrt(touched) + 0.001;
  const Histogram derived = zipf_histogram(rows, pooling_factor, exponent, batch);
  for (int bin = 0; bin < kHistogramBins; ++bin) {
    EXPECT_NEAR(derived[bin], counted[bin] / touched, tolerance) << "bin " << bin;
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, ZipfHistogram,
                         ::testing::Values(Case{1000, 2.0, 1.05, 1024}, Case{50, 1.0, 1.05, 512},
                                           Case{20000, 0.5, 1.2, 4096}, Case{5000, 10.0, 0.0, 512},
                                           Case{5000, 3.0, 1.0, 8192}, Case{300, 1.0, 3.0, 65536},
                                           Case{100000, 4.0, 0.7, 8192}));

TEST(ZipfHistogramProperties, SumsToOneForAnyTable) {
  for (const std::int64_t rows : {1LL, 2LL, 1023LL, 1025LL, 40'000'000LL, 1LL << 40}) {
    for (const double pooling_factor : {1e-6, 0.05, 1.0, 200.0, 1e6}) {
      for (const double exponent : {0.0, 0.999999999, 1.0, 1.05, 16.0}) {
        SCOPED_TRACE(::testing::Message() << rows << ' ' << pooling_factor << ' ' << exponent);
        const Histogram histogram = zipf_histogram(rows, pooling_factor, exponent);
        EXPECT_NEAR(sum(histogram), 1.0, 1e-9);
        for (const double share : histogram) EXPECT_GE(share, 0.0);
      }
    }
  }
}

TEST(ZipfHistogramProperties, IsZeroForATableNeverLookedUp) {
  EXPECT_EQ(zipf_histogram(1000, 0.0), Histogram{});
}

/// How many rows of mean `mean` are in each bin, from the definition of the distribution, times
/// `weight`.
void add_by_definition(double mean, double weight, Histogram& sums) {
  const int last = static_cast<int>(mean + 12.0 * std::sqrt(mean) + 40.0);
  const int first = std::max(1, static_cast<int>(mean - 12.0 * std::sqrt(mean) - 40.0));
  double term = weight * std::exp(first * std::log(mean) - mean - std::lgamma(first + 1.0));
  for (int n = first; n <= last; ++n, term *= mean / n) {
    sums[std::min(16U, static_cast<unsigned>(std::bit_width(static_cast<unsigned>(n - 1))))] +=
        term;
  }
}

/// The first ranks by themselves, the others by Simpson's rule on a fine grid of their logarithm,
/// which the formula under test shares nothing with.
Histogram by_definition(std::int64_t rows, double pooling_factor, double exponent) {
  constexpr std::int64_t kSingle = 2000;
  constexpr int kIntervals = 2000;
  const auto last = std::min(rows, kSingle);
  const double first_log = std::log(static_cast<double>(last) + 0.5);
  const double step = (std::log(static_cast<double>(rows) + 0.5) - first_log) / kIntervals;
  const auto for_each = [&](const auto& take) {  // Passes rank and weight.
    for (std::int64_t rank = 1; rank <= last; ++rank) take(static_cast<double>(rank), 1.0);
    if (rows == last) return;
    for (int i = 0; i <= kIntervals; ++i) {
      const double rank = std::exp(first_log + i * step);
      const double simpson = i == 0 || i == kIntervals ? 1.0 : i % 2 == 0 ? 2.0 : 4.0;
      take(rank, simpson * step / 3.0 * rank);
    }
  };
  double popularity = 0.0;
  for_each([&](double rank, double weight) { popularity += weight * std::pow(rank, -exponent); });
  Histogram expected{};
  for_each([&](double rank, double weight) {
    const double mean = pooling_factor * 65536 * std::pow(rank, -exponent) / popularity;
    add_by_definition(mean, weight, expected);
  });
  const double total = sum(expected);
  for (double& share : expected) share /= total;
  return expected;
}

/// The accuracy that docs/zipf_histogram.md states.
void expect_definition(std::int64_t rows, double pooling_factor, double exponent) {
  SCOPED_TRACE(::testing::Message() << rows << ' ' << pooling_factor << ' ' << exponent);
  const Histogram expected = by_definition(rows, pooling_factor, exponent);
  const Histogram derived = zipf_histogram(rows, pooling_factor, exponent);
  for (int bin = 0; bin < kHistogramBins; ++bin) {
    EXPECT_NEAR(derived[bin], expected[bin], 2e-7) << "bin " << bin;
  }
}

TEST(ZipfHistogramProperties, IsTheDefinition) {
  struct {
    std::int64_t rows;
    double pooling_factor;
    double exponent;
  } const tables[] = {{1, 1.0, 1.05},     {24, 0.5, 1.05},     {25, 0.5, 1.05},
                      {67, 1.0, 1.6},     {103, 89.7, 1.05},   {300, 17.0, 1.05},
                      {726, 2.7, 1.45},   {1425, 1.4, 0.0},    {3000, 0.02, 1.0},
                      {4500, 1.0, 0.3},   {9000, 0.001, 3.0},  {30000, 1.5, 1.05},
                      {8422, 33.5, 0.01}, {434, 1.35, 0.0625}, {40'000'000, 20.0, 1.05}};
  for (const auto& [rows, pooling_factor, exponent] : tables) {
    expect_definition(rows, pooling_factor, exponent);
  }
}

/// Each exponent has poles, recurrences or continued fractions of its own.
TEST(ZipfHistogramProperties, IsTheDefinitionForRandomTables) {
  std::mt19937_64 random(3);
  const auto draw = [&](double low, double high) {
    return std::exp(std::uniform_real_distribution<>(std::log(low), std::log(high))(random));
  };
  for (const double exponent :
       {0.0, 1e-12,       1e-4, 0.01, 0.05, 1.0 / 16, 0.1, 0.25, 0.3, 0.5,
        0.7, 0.999999999, 1.0,  1.05, 1.2,  1.5,      2.0, 3.0,  5.0, 16.0}) {
    for (std::uint64_t i = 0; i < testing::repetitions(10); ++i) {
      const double rows = i % 2 == 0 ? draw(1.0, 3000.0) : draw(1.0, 1e12);
      expect_definition(static_cast<std::int64_t>(rows), draw(1e-5, 300.0), exponent);
    }
  }
}

TEST(ZipfHistogramProperties, StaysTheSameAsFp32) {
  // Fingerprints and networks see it so, whatever makes the derivation faster.
  struct Known {
    std::int64_t rows;
    double pooling_factor;
    double exponent;
    std::array<float, kHistogramBins> histogram;
  };
  const std::vector<Known> all = {
      {1000000,
       10.0,
       1.05,
       {0x1.74337ap-1F, 0x1.06b70cp-3F, 0x1.1c92bep-4F, 0x1.291982p-5F, 0x1.347f5ep-6F,
        0x1.3f9156p-7F, 0x1.4aa83cp-8F, 0x1.55f0d6p-9F, 0x1.618316p-10F, 0x1.6d6cc6p-11F,
        0x1.79b6a4p-12F, 0x1.866ac2p-13F, 0x1.8f3b96p-14F, 0x1.bee8ecp-15F, 0x1.8b97bcp-16F,
        0x1.034536p-16F, 0x1.034536p-17F}},
      {40000000,
       80.0,
       1.05,
       {0x1.9c9f4cp-1F, 0x1.79ea02p-4F, 0x1.906624p-5F, 0x1.a1eb46p-6F, 0x1.b1f3bap-7F,
        0x1.c1862ap-8F, 0x1.d11f8ap-9F, 0x1.e0fed2p-10F, 0x1.f145b6p-11F, 0x1.0103ccp-11F,
        0x1.09a864p-12F, 0x1.1294fcp-13F, 0x1.1bcd1ap-14F, 0x1.2549eep-15F, 0x1.2d8f16p-16F,
        0x1.3e7ee6p-17F, 0x1.3ed8a8p-17F}},
      {500000000,
       200.0,
       1.6,
       {0x1.3fb98ap-1F, 0x1.e0b446p-4F, 0x1.5f23bp-4F, 0x1.e30c5ap-5F, 0x1.426d7p-5F,
        0x1.a828f8p-6F, 0x1.14fe24p-6F, 0x1.687cacp-7F, 0x1.d451a8p-8F, 0x1.2fef54p-8F,
        0x1.8a540cp-9F, 0x1.ff7e3ap-10F, 0x1.4bb2dep-10F, 0x1.ae31aap-11F, 0x1.18325p-11F,
        0x1.602aaep-12F, 0x1.4a84dp-11F}},
  };
  for (const auto& [rows, pooling_factor, exponent, histogram] : all) {
    const Histogram derived = zipf_histogram(rows, pooling_factor, exponent);
    for (std::size_t bin = 0; bin < kHistogramBins; ++bin) {
      EXPECT_EQ(static_cast<float>(derived[bin]), histogram[bin]) << rows << ", " << bin;
    }
  }
}

TEST(ZipfHistogramProperties, RejectsWhatNoTableHas) {
  EXPECT_THROW((void)zipf_histogram(0, 1.0), Error);
  EXPECT_THROW((void)zipf_histogram(-5, 1.0), Error);
  EXPECT_THROW((void)zipf_histogram(10, -1.0), Error);
  EXPECT_THROW((void)zipf_histogram(10, std::nan("")), Error);
  EXPECT_THROW((void)zipf_histogram(10, 1.0, std::numeric_limits<double>::infinity()), Error);
  EXPECT_THROW((void)zipf_histogram(10, 1.0, 1.05, 0), Error);
}

}  // namespace
}  // namespace neuroshard
