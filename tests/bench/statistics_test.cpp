#include "bench/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace neuroshard::bench {
namespace {

TEST(Statistics, PercentileIsTheSmallestValueThatEnoughValuesDoNotExceed) {
  std::mt19937 random(1);
  for (int size = 1; size <= 40; ++size) {
    std::vector<double> values;
    for (int i = 0; i < size; ++i) values.push_back(static_cast<double>(random() % 20));
    for (const double percent : {0.0, 1.0, 25.0, 50.0, 90.0, 99.0, 100.0}) {
      SCOPED_TRACE(percent);
      const double found = percentile(values, percent);
      const auto at_most = [&](double limit) {
        return 100.0 * static_cast<double>(std::count_if(values.begin(), values.end(),
                                                         [&](double v) { return v <= limit; }));
      };
      EXPECT_NE(std::find(values.begin(), values.end(), found), values.end());
      EXPECT_GE(at_most(found), percent * size - 1e-9);
      if (found != *std::min_element(values.begin(), values.end())) {
        EXPECT_LT(at_most(found - 0.5), percent * size);
      }
    }
  }
}

TEST(Statistics, PercentilesOfOneToHundred) {
  std::vector<double> values;
  for (int i = 100; i >= 1; --i) values.push_back(i);
  EXPECT_EQ(percentile(values, 50.0), 50.0);
  EXPECT_EQ(percentile(values, 90.0), 90.0);
  EXPECT_EQ(percentile(values, 99.0), 99.0);
  EXPECT_EQ(percentile(values, 99.5), 100.0);
  EXPECT_EQ(percentile(values, 100.0), 100.0);
  EXPECT_EQ(percentile(values, 0.0), 1.0);
}

TEST(Statistics, MedianOfOddAndEvenNumbers) {
  EXPECT_EQ(median(std::vector{3.0, 1.0, 2.0}), 2.0);
  EXPECT_EQ(median(std::vector{4.0, 1.0, 2.0, 3.0}), 2.5);
  EXPECT_EQ(median(std::vector{7.0}), 7.0);
}

TEST(Statistics, GeometricMeanIsNotMovedByOneLargeValueAsTheMeanIs) {
  EXPECT_DOUBLE_EQ(geometric_mean(std::vector{1.0, 100.0}), 10.0);
  EXPECT_DOUBLE_EQ(geometric_mean(std::vector{2.0, 4.0, 8.0}), 4.0);
  EXPECT_DOUBLE_EQ(mean(std::vector{1.0, 100.0}), 50.5);
  // No overflow on the way.
  EXPECT_NEAR(geometric_mean(std::vector(1000, 1e300)), 1e300, 1e290);
}

TEST(Statistics, GeometricSpreadIsTheFactorByWhichValuesAreOffTheirMean) {
  EXPECT_DOUBLE_EQ(geometric_spread(std::vector{1.0, 100.0}), 10.0);
  EXPECT_DOUBLE_EQ(geometric_spread(std::vector{3.0, 0.75, 3.0, 0.75}), 2.0);
  EXPECT_DOUBLE_EQ(geometric_spread(std::vector{5.0}), 1.0);
}

TEST(Statistics, SpreadIsRelativeToTheMedian) {
  EXPECT_DOUBLE_EQ(relative_spread(std::vector{9.0, 10.0, 12.0}), 0.3);
  EXPECT_EQ(relative_spread(std::vector{5.0}), 0.0);
}

TEST(Statistics, MedianOfRoundsIsTakenTaskByTask) {
  EXPECT_EQ(median_of_rounds({{1.0, 30.0}, {3.0, 10.0}, {2.0, 20.0}}), (std::vector{2.0, 20.0}));
  EXPECT_TRUE(median_of_rounds({{}, {}}).empty());
}

}  // namespace
}  // namespace neuroshard::bench
