#include "weights/lookups/zipf_lookups.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "repetitions.h"

namespace neuroshard {
namespace {

TEST(ZipfRanks, AreDrawnAsOftenAsTheLawSays) {
  for (const std::int64_t ranks : {1, 2, 50}) {
    for (const double exponent : {0.0, 0.5, 0.99, 1.0, 1.05, 2.0, 16.0}) {
      SCOPED_TRACE(::testing::Message() << ranks << " ranks, exponent " << exponent);
      const ZipfRanks drawn(ranks, exponent);
      Random random(5);
      const auto draws = static_cast<std::int64_t>(testing::repetitions(50'000));
      std::vector<double> counts(static_cast<std::size_t>(ranks));
      for (std::int64_t i = 0; i < draws; ++i) {
        counts.at(static_cast<std::size_t>(drawn.draw(random) - 1)) += 1.0;
      }
      double sum = 0.0;
      for (std::int64_t r = 1; r <= ranks; ++r) sum += std::pow(static_cast<double>(r), -exponent);
      for (std::int64_t r = 1; r <= ranks; ++r) {
        const double expected =
            static_cast<double>(draws) * std::pow(static_cast<double>(r), -exponent) / sum;
        EXPECT_NEAR(counts[static_cast<std::size_t>(r - 1)], expected,
                    4.5 * std::sqrt(expected) + 2.0)
            << r;
      }
    }
  }
}

TEST(ZipfLookups, KeepTheirRowsButForADrift) {
  constexpr std::int64_t kRows = 10'000;
  for (const double drift : {0.0, 0.01, 0.3}) {
    ZipfLookups lookups(kRows, 1.0, drift);
    Random random(3);
    const std::vector<std::int64_t> first = lookups.rows();
    std::vector<std::int64_t> sorted = first;
    std::ranges::sort(sorted);
    for (std::int64_t row = 0; row < kRows; ++row) {
      EXPECT_EQ(sorted[static_cast<std::size_t>(row)], row);
    }
    const AccessStream stream = lookups.batch(500, 40, random);
    EXPECT_EQ(stream.indices.size(), 500U);
    EXPECT_EQ(stream.offsets.size(), 41U);
    EXPECT_EQ(stream.offsets.back(), 500);
    EXPECT_EQ(lookups.rows(), first);
    (void)lookups.batch(500, 40, random);
    double moved = 0.0;
    for (std::size_t rank = 0; rank < first.size(); ++rank) {
      if (lookups.rows()[rank] != first[rank]) moved += 1.0 / static_cast<double>(kRows);
    }
    // Some ranks are drawn twice.
    EXPECT_NEAR(moved, 1.0 - std::exp(-drift), 0.02 * drift);
  }
}

}  // namespace
}  // namespace neuroshard
