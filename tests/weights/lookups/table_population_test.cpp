#include "weights/lookups/table_population.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/tables/access_statistics.h"
#include "neuroshard/error.h"
#include "weights/lookups/access_stream.h"
#include "weights/lookups/table_statistics.h"

namespace neuroshard {
namespace {

TableStatistics generated_statistics(const PopulationOptions& options) {
  StatisticsSum sum;
  for (const PopulationTable& drawn : draw_population(options)) {
    Random random(options.seed, drawn.stream);
    const auto touches = plan_touches(drawn.table, options.batch, random);
    sum.add(with_statistics_of(drawn.table, touches, options.batch), touches);
  }
  return sum.result();
}

void expect_within(double share, double generated, double published, const std::string& what) {
  EXPECT_NEAR(generated / published, 1.0, share) << what;
}

// The whole published size: the statistics are those of the integer lookups, not of the drawn
// expectations.
TEST(Population, HasThePublishedStatistics) {
  const TableStatistics& published = published_statistics();
  const TableStatistics generated = generated_statistics({.seed = 1});
  expect_within(0.10, generated.rows.mean, published.rows.mean, "mean rows");
  expect_within(0.10, generated.pooling_factor.mean, published.pooling_factor.mean,
                "mean pooling factor");
  expect_within(0.15, generated.rows.std, published.rows.std, "deviation of rows");
  expect_within(0.15, generated.pooling_factor.std, published.pooling_factor.std,
                "deviation of pooling factor");
  for (int bin = 0; bin < kHistogramBins; ++bin) {
    const std::string name = "bin_" + std::to_string(bin);
    expect_within(0.10, generated.bins[bin].mean, published.bins[bin].mean, name);
    expect_within(0.60, generated.bins[bin].std, published.bins[bin].std, name + " deviation");
    EXPECT_NEAR(generated.row_shares[bin], published.row_shares[bin], 0.05) << name;
    EXPECT_NEAR(generated.access_shares[bin], published.access_shares[bin], 0.12) << name;
  }
  expect_within(0.15, generated.accesses_per_row, published.accesses_per_row, "reuse");
}

TEST(Population, OfAnySizeIsValid) {
  for (const int count : {1, 2, 3, 17, 100}) {
    for (const std::int64_t batch : {1, 64, 4096}) {
      SCOPED_TRACE(std::to_string(count) + " tables, batch " + std::to_string(batch));
      Task task;
      for (const PopulationTable& drawn :
           draw_population({.tables = count, .batch = batch, .row_scale = 0.01})) {
        task.tables.push_back(drawn.table);
      }
      task.devices = 1;
      task.memory_bytes = 1;
      ASSERT_EQ(task.tables.size(), static_cast<std::size_t>(count));
      validate(task);
      for (const Table& table : task.tables) {
        EXPECT_GE(table.rows, 100);
        EXPECT_LE(access_profile(table, batch).distinct_rows, static_cast<double>(table.rows));
      }
    }
  }
}

TEST(Population, DependsOnItsSeedOnly) {
  const auto rows = [](std::uint64_t seed) {
    std::vector<std::int64_t> counts;
    for (const PopulationTable& drawn : draw_population({.tables = 20, .seed = seed})) {
      counts.push_back(drawn.table.rows);
    }
    return counts;
  };
  EXPECT_EQ(rows(5), rows(5));
  EXPECT_NE(rows(5), rows(6));
}

TEST(Population, RefusesImpossibleOptions) {
  EXPECT_THROW((void)draw_population({.tables = 0}), Error);
  EXPECT_THROW((void)draw_population({.batch = 0}), Error);
  EXPECT_THROW((void)draw_population({.row_scale = 0.0}), Error);
}

}  // namespace
}  // namespace neuroshard
