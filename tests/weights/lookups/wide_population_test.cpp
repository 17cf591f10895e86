#include "weights/lookups/wide_population.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "core/tables/access_statistics.h"
#include "neuroshard/error.h"

namespace neuroshard {
namespace {

TEST(WidePopulation, CoversWhatPublicModelsHave) {
  const std::vector<Table> tables = draw_wide_population({.tables = 600, .seed = 3});
  ASSERT_EQ(tables.size(), 600U);
  int one_hot = 0;
  int all_rows_hot = 0;
  for (const Table& table : tables) {
    validate(table, "drawn");
    EXPECT_GE(table.rows, 3);
    EXPECT_LE(table.rows, 500'000'000);
    EXPECT_GE(table.pooling_factor, 0.05);
    EXPECT_LE(access_profile(table, kDefaultBatchSize).distinct_rows, table.rows);
    EXPECT_LE(table.pooling_factor, 250.0);
    const auto& bins = table.access_histogram;
    EXPECT_NEAR(std::accumulate(bins.begin(), bins.end(), 0.0), 1.0, 1e-6);
    one_hot += table.pooling_factor == 1.0 ? 1 : 0;
    all_rows_hot += std::accumulate(bins.begin() + 9, bins.end(), 0.0) > 0.9 ? 1 : 0;
  }
  EXPECT_NEAR(one_hot, 150, 35);
  EXPECT_GT(all_rows_hot, 30);  // Few rows, each touched hundreds of times.
  const auto [few, many] = std::minmax_element(
      tables.begin(), tables.end(), [](const Table& a, const Table& b) { return a.rows < b.rows; });
  EXPECT_LT(few->rows, 10);
  EXPECT_GT(many->rows, 200'000'000);
}

TEST(WidePopulation, DependsOnTheSeedOnly) {
  const auto rows = [](std::uint64_t seed, int count) {
    std::vector<std::int64_t> all;
    for (const Table& table : draw_wide_population({.tables = count, .seed = seed})) {
      all.push_back(table.rows);
    }
    all.resize(5);
    return all;
  };
  EXPECT_EQ(rows(1, 5), rows(1, 20));
  EXPECT_NE(rows(1, 5), rows(2, 5));
}

TEST(WidePopulation, RefusesImpossibleOptions) {
  EXPECT_THROW((void)draw_wide_population({.tables = 0}), Error);
  EXPECT_THROW((void)draw_wide_population({.batch = 0}), Error);
}

}  // namespace
}  // namespace neuroshard
