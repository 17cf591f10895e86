#include "weights/lookups/access_stream.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "message_of.h"
#include "neuroshard/error.h"
#include "weights/lookups/random_tables.h"

namespace neuroshard {
namespace {

Table table_with(int bin, double pooling_factor, std::int64_t rows) {
  Table table{.rows = rows, .dim = 4, .pooling_factor = pooling_factor};
  table.access_histogram[bin] = 1.0;
  return table;
}

std::int64_t sum(const std::vector<std::uint32_t>& touches) {
  return std::accumulate(touches.begin(), touches.end(), std::int64_t{0});
}

TEST(PlanTouches, UsesUpTheLookupsWithinTheRows) {
  Random random(11);
  for (int i = 0; i < 300; ++i) {
    SCOPED_TRACE(i);
    const Table table = random_table(random, 64);
    const std::int64_t batch = 1 + static_cast<std::int64_t>(random.below(5000));
    const std::vector<std::uint32_t> touches = plan_touches(table, batch, random);
    EXPECT_EQ(sum(touches), std::llround(table.pooling_factor * static_cast<double>(batch)));
    EXPECT_LE(static_cast<std::int64_t>(touches.size()), table.rows);
    for (const std::uint32_t t : touches) EXPECT_GE(t, 1u);
  }
}

TEST(PlanTouches, KeepsTheHistogramOfATableWithRowsToSpare) {
  Random random(12);
  for (int i = 0; i < 20; ++i) {
    SCOPED_TRACE(i);
    Table table = random_table(random, 64);
    table.rows = 10'000'000;
    table.pooling_factor = 20.0;
    for (int bin = 8; bin < kHistogramBins; ++bin) table.access_histogram[bin] = 0.0;
    const auto touches = plan_touches(table, 65536, random);
    const Table planned = with_statistics_of(table, touches, 65536);
    const double total =
        std::accumulate(table.access_histogram.begin(), table.access_histogram.end(), 0.0);
    for (int bin = 0; bin < kHistogramBins; ++bin) {
      EXPECT_NEAR(planned.access_histogram[bin], table.access_histogram[bin] / total, 1e-4);
    }
    EXPECT_NEAR(planned.pooling_factor, 20.0, 1e-9);
  }
}

TEST(PlanTouches, PutsOneLookupPerSampleInTheOpenBinOnOneRow) {
  Random random(13);
  EXPECT_EQ(plan_touches(table_with(16, 1.0, 100), 65536, random),
            std::vector<std::uint32_t>{65536});
}

TEST(PlanTouches, LowersTheBinsIfTheBatchIsTooSmallForThem) {
  Random random(14);
  EXPECT_EQ(sum(plan_touches(table_with(16, 1.5, 100), 64, random)), 96);
  EXPECT_EQ(sum(plan_touches(table_with(5, 0.001, 100), 1000, random)), 1);
}

TEST(PlanTouches, RaisesTheTouchesIfTheTableHasTooFewRows) {
  Random random(15);
  const auto touches = plan_touches(table_with(0, 10.0, 7), 100, random);
  EXPECT_EQ(touches.size(), 7u);
  EXPECT_EQ(sum(touches), 1000);
}

TEST(PlanTouches, OfATableNeverLookedUpIsEmpty) {
  Random random(16);
  EXPECT_TRUE(plan_touches(table_with(0, 0.0, 7), 100, random).empty());
}

TEST(PlanTouches, RefusesMoreLookupsThanItCanCount) {
  Random random(17);
  EXPECT_THROW((void)plan_touches(table_with(0, 1e6, 7), 65536, random), Error);
}

TEST(PlanTouches, RefusesTablesOfSeveralFeatures) {
  Random random(1);
  Table shared = table_with(0, 4.0, 1000);
  shared.name = "item";
  shared.features = 2.0;
  EXPECT_EQ(testing::message_of([&] { (void)plan_touches(shared, 65536, random); }),
            "table 'item': features is 2; batches are made of one feature a table: list the table "
            "once for each, or leave features out");
}

TEST(PlanTouches, RefusesTablesThatAreNotPlainlySummed) {
  Random random(1);
  Table table = table_with(0, 4.0, 1000);
  table.pooling = Pooling::kNone;
  EXPECT_EQ(testing::message_of([&] { (void)plan_touches(table, 65536, random); }),
            "pooling is none; operators that are measured sum up rows as they are: leave it out");
  table.pooling = Pooling::kSum;
  table.weighted = true;
  table.name = "item";
  EXPECT_EQ(testing::message_of([&] { (void)plan_touches(table, 65536, random); }),
            "table 'item': weighted is true; operators that are measured sum up rows as they are: "
            "leave it out");
}

TEST(MakeStream, TouchesEachRowAsPlanned) {
  Random random(18);
  for (int i = 0; i < 100; ++i) {
    SCOPED_TRACE(i);
    Table table = random_table(random, 64);
    table.rows = 1 + static_cast<std::int64_t>(random.below(3000));
    const std::int64_t batch = 1 + static_cast<std::int64_t>(random.below(300));
    std::vector<std::uint32_t> touches = plan_touches(table, batch, random);
    const AccessStream stream = make_stream(table, touches, batch, random);

    ASSERT_EQ(stream.offsets.size(), static_cast<std::size_t>(batch + 1));
    EXPECT_EQ(stream.offsets.front(), 0);
    EXPECT_EQ(stream.offsets.back(), static_cast<std::int64_t>(stream.indices.size()));
    for (std::int64_t s = 0; s < batch; ++s) EXPECT_LE(stream.offsets[s], stream.offsets[s + 1]);

    std::map<std::int64_t, std::uint32_t> counted;
    for (const std::int64_t index : stream.indices) ++counted[index];
    ASSERT_FALSE(touches.empty() && !counted.empty());
    if (counted.empty()) continue;
    EXPECT_GE(counted.begin()->first, 0);
    EXPECT_EQ(counted.rbegin()->first, table.rows - 1);
    std::vector<std::uint32_t> found;
    for (const auto& [row, count] : counted) found.push_back(count);
    std::sort(found.begin(), found.end());
    std::sort(touches.begin(), touches.end());
    EXPECT_EQ(found, touches);
  }
}

TEST(MakeStream, SpreadsTheLookupsOverTheSamples) {
  Random random(19);
  const Table table = table_with(3, 8.0, 100000);
  const AccessStream stream = make_stream(table, plan_touches(table, 1000, random), 1000, random);
  double squares = 0.0;
  for (int s = 0; s < 1000; ++s) {
    const double length = static_cast<double>(stream.offsets[s + 1] - stream.offsets[s]);
    squares += (length - 8.0) * (length - 8.0);
  }
  EXPECT_NEAR(squares / 1000.0, 8.0, 2.0);  // Nearly Poisson.
}

}  // namespace
}  // namespace neuroshard
