#include "bench/plans/quality.h"

#include <gtest/gtest.h>

#include <cmath>

namespace neuroshard::bench {
namespace {

const AlgorithmRuns kReference = {
    .name = "neuroshard", .cost_ms = {{10.0, 20.0, std::nullopt}}, .search_ms = {1.0, 2.0, 3.0}};

TEST(Quality, ReferenceIsOne) {
  const QualityRow row = summarize(kReference, kReference);
  EXPECT_DOUBLE_EQ(row.success, 2.0 / 3.0);
  EXPECT_DOUBLE_EQ(row.mean_cost_ms, 15.0);
  EXPECT_DOUBLE_EQ(row.relative_cost, 1.0);
  EXPECT_DOUBLE_EQ(row.mean_search_ms, 2.0);
}

TEST(Quality, ComparesOnlyWhereBothHaveAPlan) {
  // Two runs; the third task has a plan here but none by the reference.
  const AlgorithmRuns random = {
      .name = "random",
      .cost_ms = {{20.0, std::nullopt, 7.0}, {80.0, std::nullopt, std::nullopt}},
      .search_ms = {1.0, 1.0, 1.0}};
  const QualityRow row = summarize(random, kReference);
  EXPECT_DOUBLE_EQ(row.success, 3.0 / 6.0);
  EXPECT_DOUBLE_EQ(row.mean_cost_ms, 107.0 / 3.0);
  EXPECT_DOUBLE_EQ(row.relative_cost, 4.0);  // The geometric mean of 2 and 8.
}

TEST(Quality, TasksThatAnAlgorithmWasNotRunOnDoNotCount) {
  const AlgorithmRuns published = {.name = "published",
                                   .cost_ms = {{12.0, std::nullopt, std::nullopt}},
                                   .search_ms = {5000.0, std::nullopt, 7000.0}};
  const QualityRow row = summarize(published, kReference);
  EXPECT_DOUBLE_EQ(row.success, 0.5);
  EXPECT_DOUBLE_EQ(row.relative_cost, 1.2);
  EXPECT_DOUBLE_EQ(row.mean_search_ms, 6000.0);
}

TEST(Quality, NothingFoundIsNotANumber) {
  const AlgorithmRuns none = {.name = "none",
                              .cost_ms = {{std::nullopt, std::nullopt, std::nullopt}},
                              .search_ms = {1.0, 1.0, 1.0}};
  const QualityRow row = summarize(none, kReference);
  EXPECT_EQ(row.success, 0.0);
  EXPECT_TRUE(std::isnan(row.mean_cost_ms));
  EXPECT_TRUE(std::isnan(row.relative_cost));
}

}  // namespace
}  // namespace neuroshard::bench
