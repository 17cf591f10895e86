// Row blocks of tables whose rows are not looked up evenly.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "core/base/random.h"
#include "core/placement/cpu_backend.h"
#include "core/plans/id_exchange.h"
#include "core/plans/slice_tables.h"
#include "core/tables/access_statistics.h"
#include "core/tables/table_kind.h"
#include "neuroshard/explanation.h"
#include "neuroshard/histogram_scale.h"
#include "neuroshard/plan.h"
#include "neuroshard/simulator.h"
#include "neuroshard/zipf_histogram.h"
#include "random_tasks.h"
#include "repetitions.h"

namespace neuroshard {
namespace {

using ::testing::DoubleNear;
using testing::random_models;
using testing::repetitions;

std::vector<double> random_shares(Random& random, std::size_t parts) {
  std::vector<double> shares(parts);
  for (double& share : shares) share = random.below(3) == 0 ? 0.0 : std::pow(random.uniform(), 4.0);
  shares[random.below(parts)] += 0.1;
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& share : shares) share /= sum;
  return shares;
}

Table table_of_rows(std::int64_t rows) {
  return {.rows = rows,
          .dim = 16,
          .pooling_factor = 3.0,
          .access_histogram = {0.25, 0.25, 0.25, 0.125, 0.125}};
}

// Rows in as many cells as there are parts: each cell lies in one part.
double share_by_cells(const Table& table, std::int64_t first_row, std::int64_t rows) {
  const auto parts = static_cast<std::int64_t>(table.row_shares.size());
  double share = 0.0;
  for (std::int64_t cell = first_row * parts; cell < (first_row + rows) * parts; ++cell) {
    share += table.row_shares[static_cast<std::size_t>(cell / table.rows)] /
             static_cast<double>(table.rows);
  }
  return share;
}

TEST(RowShares, OfAnyRowsAreTheIntegralOverThem) {
  for (const std::uint64_t seed : testing::Seeds(repetitions(500))) {
    Random random(seed, 5);
    Table table = table_of_rows(1 + static_cast<std::int64_t>(random.below(60)));
    table.row_shares = random_shares(random, 1 + random.below(70));
    double all = 0.0;
    for (std::int64_t first = 0; first < table.rows;) {
      const std::int64_t rows =
          1 + static_cast<std::int64_t>(random.below(static_cast<std::size_t>(table.rows - first)));
      const double share = lookup_share(table, first, rows);
      EXPECT_THAT(share, DoubleNear(share_by_cells(table, first, rows), 1e-12));
      all += share;
      first += rows;
    }
    EXPECT_THAT(all, DoubleNear(1.0, 1e-12));
    EXPECT_EQ(lookup_share(table, 0, table.rows), 1.0);
  }
}

TEST(RowShares, AreExactOfTheLargestTable) {
  Table table = table_of_rows(kMaxRows);
  table.row_shares.assign(kMaxRowShares, 0.0);
  table.row_shares.back() = 1.0;
  const std::int64_t part = kMaxRows / kMaxRowShares;
  EXPECT_EQ(lookup_share(table, kMaxRows - part, part), 1.0);
  EXPECT_EQ(lookup_share(table, kMaxRows - part / 2, part / 2), 0.5);
  EXPECT_EQ(lookup_share(table, 0, kMaxRows - part), 0.0);
}

TEST(RowShares, DecideWhatABlockIsLookedUp) {
  Task task{.tables = {table_of_rows(1000)}, .devices = 2, .memory_bytes = 1 << 20};
  Table& table = task.tables[0];
  table.row_shares = {0.5, 0.25, 0.25, 0.0};
  const Table whole = table_of(task, {0, 0, 8, 0, 1000});
  EXPECT_EQ(whole.pooling_factor, 3.0);
  EXPECT_EQ(whole.access_histogram, table.access_histogram);
  EXPECT_TRUE(whole.row_shares.empty());
  const Table hot = table_of(task, {0, 0, 16, 0, 500});
  EXPECT_EQ(hot.pooling_factor, 0.75 * 3.0);
  // Half of the rows with 3/4 of the lookups: nearly as in 1.5 times as many samples.
  const std::array<double, kHistogramBins> expected =
      HistogramScale(1.5 * kDefaultBatchSize)(table);
  double all = 0.0;
  for (int bin = 0; bin < kHistogramBins; ++bin) {
    EXPECT_NEAR(hot.access_histogram[bin], expected[bin], 0.003);
    all += hot.access_histogram[bin];
  }
  EXPECT_NEAR(all, 1.0, 1e-12);
  const Table never = table_of(task, {0, 0, 16, 750, 250});
  EXPECT_EQ(never.pooling_factor, 0.0);
  EXPECT_EQ(never.access_histogram, (std::array<double, kHistogramBins>{}));
  // Buffers follow the lookups, weights the rows.
  table.memory.batch_size = 1000;
  EXPECT_EQ(slice_bytes(task, {0, 0, 16, 0, 500}), 500 * 16 * 4 + 2250 * 8 + 1000 * 16 * 4);
  EXPECT_EQ(slice_bytes(task, {0, 0, 16, 750, 250}), 250 * 16 * 4);
}

TEST(RowShares, ThatAreEvenChangeNothing) {
  Task task{.tables = {table_of_rows(999)}, .devices = 3, .memory_bytes = 1 << 20};
  Task even = task;
  even.tables[0].row_shares.assign(7, 1.0 / 7.0);
  for (const TableSlice& slice : {TableSlice{0, 0, 16, 0, 333}, TableSlice{0, 0, 16, 333, 1}}) {
    const Table expected = table_of(task, slice);
    const Table found = table_of(even, slice);
    EXPECT_NEAR(found.pooling_factor, expected.pooling_factor, 1e-12);
    EXPECT_EQ(found.access_histogram, expected.access_histogram);
  }
}

// docs/plan_format.md has these figures.
TEST(RowShares, OfSortedRowsTellNearlyHowManyTheBusiestBlockTouches) {
  constexpr std::int64_t kRows = 100'000;
  for (const double exponent : {0.6, 0.8, 1.05, 1.2}) {
    std::vector<double> popularity(kRows);
    for (std::int64_t r = 0; r < kRows; ++r) {
      popularity[static_cast<std::size_t>(r)] = std::pow(static_cast<double>(r + 1), -exponent);
    }
    const double all = std::accumulate(popularity.begin(), popularity.end(), 0.0);
    for (const double pooling_factor : {0.1, 1.0, 20.0}) {
      SCOPED_TRACE(exponent);
      SCOPED_TRACE(pooling_factor);
      Task task;
      Table& table = task.tables.emplace_back(table_of_rows(kRows));
      table.pooling_factor = pooling_factor;
      table.access_histogram = zipf_histogram(kRows, pooling_factor, exponent);
      table.row_shares.resize(1000);
      double touched = 0.0;
      for (std::size_t r = 0; r < popularity.size(); ++r) {
        const double share = popularity[r] / all;
        table.row_shares[r / 100] += share;
        const double lookups = share * pooling_factor * kDefaultBatchSize;
        if (r < kRows / 8) touched += 1.0 - std::exp(-lookups);
      }
      const Table block = table_of(task, {0, 0, 16, 0, kRows / 8});
      const double said = access_profile(block, kDefaultBatchSize).distinct_rows;
      EXPECT_GT(said / touched, 0.65);
      EXPECT_LT(said / touched, 1.05);
    }
  }
}

TEST(RowShares, OfManyBlocksAreThoseOfEachAlone) {
  Task task{.tables = {table_of_rows(10'000), table_of_rows(500)}};
  Random random(8);
  for (Table& table : task.tables) table.row_shares = random_shares(random, 97);
  SliceTables tables(task);
  for (int i = 0; i < 300; ++i) {
    const int t = i % 2;
    const std::int64_t rows = 1 + static_cast<std::int64_t>(random.below(400));
    const TableSlice slice{t, 0, 16, static_cast<std::int64_t>(random.below(100)), rows};
    EXPECT_EQ(kind_of(tables.of(slice)), kind_of(table_of(task, slice)));
  }
}

// The simulator, with ids and buffers, and explanations follow.
TEST(RowShares, DecideCostsOfPlans) {
  const auto backend = make_cpu_backend(random_models(3, {.any_batch = true}));
  Task task{
      .tables = {table_of_rows(1000), table_of_rows(500)}, .devices = 2, .memory_bytes = 1 << 20};
  const Plan plan{.slices = {{0, 0, 16, 0, 500}, {0, 0, 16, 500, 500}, {1, 0, 16, 0, 500}},
                  .shards = {{0}, {1, 2}}};
  const PlanCost even = simulate(*backend, task, plan);
  task.tables[0].row_shares = {0.9, 0.1};
  const PlanCost skewed = simulate(*backend, task, plan);
  EXPECT_DOUBLE_EQ(even.devices[0].lookups, 1.5);
  EXPECT_NEAR(skewed.devices[0].lookups, 2.7, 1e-6);
  EXPECT_NEAR(skewed.devices[1].lookups, 0.3 + 3.0, 1e-6);
  EXPECT_NE(skewed.devices[0].compute_ms, even.devices[0].compute_ms);
  // 2.7 and 3.3 lookups, not 1.5 and 4.5.
  IdExchange ids(*backend, 2);
  EXPECT_EQ(skewed.devices[0].ids_ms, ids.ms(lookup_units(3.3)));
  EXPECT_EQ(explain(*backend, task, plan).cost.cost_ms, skewed.cost_ms);
  Task same{.devices = 2, .memory_bytes = task.memory_bytes};
  for (const TableSlice& slice : plan.slices) same.tables.push_back(table_of(task, slice));
  EXPECT_EQ(simulate(*backend, same, {whole_tables(same), plan.shards}).cost_ms, skewed.cost_ms);
}

}  // namespace
}  // namespace neuroshard
