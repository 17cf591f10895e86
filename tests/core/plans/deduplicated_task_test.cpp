#include "core/plans/deduplicated_task.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <set>
#include <vector>

#include "core/plans/replicas.h"
#include "core/plans/touched_gradients.h"
#include "core/tables/access_statistics.h"
#include "neuroshard/histogram_scale.h"
#include "neuroshard/plan.h"
#include "neuroshard/zipf_histogram.h"

namespace neuroshard {
namespace {

Task unpooled_task(std::int64_t rows, double pooling_factor, double exponent, int devices,
                   std::int64_t batch) {
  Table table{.rows = rows,
              .dim = 16,
              .pooling_factor = pooling_factor,
              .access_histogram = zipf_histogram(rows, pooling_factor, exponent),
              .pooling = Pooling::kNone};
  Task task{.tables = {table},
            .devices = devices,
            .memory_bytes = std::int64_t{1} << 40,
            .batch_size = batch};
  task.exchange.deduplicate_ids = true;
  return task;
}

TEST(DeduplicatedTask, LeavesOtherTasksAndTablesAsTheyAre) {
  Task task = unpooled_task(1000, 5.0, 1.0, 4, 65536);
  task.tables.push_back(task.tables.front());
  task.tables.push_back(task.tables.front());
  task.tables[1].pooling = Pooling::kSum;
  task.tables[2].pooling = Pooling::kMean;
  const DeduplicatedTask deduplicated(task);
  const Task& left = deduplicated.task();
  EXPECT_LT(left.tables[0].pooling_factor, 5.0);
  for (const int t : {1, 2}) {
    EXPECT_EQ(left.tables[t].pooling_factor, 5.0);
    EXPECT_EQ(left.tables[t].access_histogram, task.tables[t].access_histogram);
  }
  const DeduplicatedTask again(left);
  EXPECT_EQ(&again.task(), &left);
  task.exchange.deduplicate_ids = false;
  const DeduplicatedTask not_asked_for(task);
  EXPECT_EQ(&not_asked_for.task(), &task);
}

/// Lookups of batches that are drawn by Zipf's law, over all devices.
struct Drawn {
  double left = 0.0;           ///< Distinct rows of each device's part, added up.
  double distinct_rows = 0.0;  ///< Distinct rows of the batch.
};

Drawn draw(const Task& task, double exponent, std::uint64_t seed) {
  const Table& table = task.tables.front();
  std::vector<double> popularity;
  for (std::int64_t row = 0; row < table.rows; ++row) {
    popularity.push_back(std::pow(static_cast<double>(row + 1), -exponent));
  }
  std::discrete_distribution<std::int64_t> rows(popularity.begin(), popularity.end());
  std::mt19937_64 random(seed);
  const std::int64_t lookups =
      std::llround(static_cast<double>(task.batch_size) / task.devices * table.pooling_factor);
  Drawn drawn;
  std::set<std::int64_t> of_batch;
  for (int device = 0; device < task.devices; ++device) {
    std::set<std::int64_t> of_device;
    for (std::int64_t i = 0; i < lookups; ++i) of_device.insert(rows(random));
    drawn.left += static_cast<double>(of_device.size());
    of_batch.insert(of_device.begin(), of_device.end());
  }
  drawn.distinct_rows = static_cast<double>(of_batch.size());
  return drawn;
}

// A histogram knows the number of distinct rows of a batch within 10 %, and how many times as many
// all devices look up within 6 %.
TEST(DeduplicatedTask, LookupsThatAreLeftAreThoseOfDrawnBatches) {
  for (const double exponent : {0.9, 1.1, 1.3}) {
    for (const int devices : {1, 4, 16}) {
      for (const std::int64_t batch : {4096, 65536}) {
        SCOPED_TRACE(::testing::Message()
                     << exponent << ", " << devices << " devices, " << batch << " samples");
        const Task task = unpooled_task(20'000, 4.0, exponent, devices, batch);
        const DeduplicatedTask deduplicated(task);
        const Table& left = deduplicated.task().tables.front();
        const auto samples = static_cast<double>(batch);
        const Drawn drawn = draw(task, exponent, 7);
        EXPECT_NEAR(left.pooling_factor * samples / drawn.left, 1.0, 0.1);
        // Its operator looks up so many, in as many rows as before.
        const AccessProfile profile = access_profile(left, HistogramScale(samples), samples);
        EXPECT_NEAR(profile.lookups, left.pooling_factor * samples, 1e-6 * profile.lookups);
        const AccessProfile before =
            access_profile(task.tables.front(), HistogramScale(samples), samples);
        EXPECT_NEAR(profile.distinct_rows / before.distinct_rows, 1.0, 0.03);
        EXPECT_NEAR(profile.distinct_rows / drawn.distinct_rows, 1.0, 0.1);
        EXPECT_NEAR(profile.lookups / profile.distinct_rows / (drawn.left / drawn.distinct_rows),
                    1.0, 0.06);
        double lookups = 0.0;
        double most = 0.0;
        for (int bin = 0; bin < kHistogramBins; ++bin) {
          lookups += profile.rows[bin] * profile.touches[bin];
          if (profile.rows[bin] > 1e-9) most = std::max(most, profile.touches[bin]);
        }
        EXPECT_NEAR(lookups, profile.lookups, 1e-6 * lookups);
        EXPECT_LE(most, 2.0 * devices);  // Once on each device, by means of bins.
      }
    }
  }
}

/// Rows that all devices ask for in each of so many equal blocks of a table. Numbers of lookups are
/// lognormal, and no block is more popular than another one. `mean_lookups` becomes what a sample
/// has on average.
std::vector<double> draw_blocks(const Task& task, double exponent, std::size_t blocks,
                                double& mean_lookups) {
  const Table& table = task.tables.front();
  std::mt19937_64 random(13);
  std::vector<double> popularity;
  std::vector<std::int64_t> row_of_rank;
  for (std::int64_t rank = 0; rank < table.rows; ++rank) {
    popularity.push_back(std::pow(static_cast<double>(rank + 1), -exponent));
    const auto count = static_cast<std::int64_t>(blocks);
    row_of_rank.push_back(rank % count * (table.rows / count) + rank / count);
  }
  std::discrete_distribution<std::size_t> ranks(popularity.begin(), popularity.end());
  constexpr double kSigma = 0.8;
  std::lognormal_distribution<double> lengths(std::log(mean_lookups) - kSigma * kSigma / 2, kSigma);
  std::vector<double> asked_for(blocks, 0.0);
  std::int64_t lookups = 0;
  for (int device = 0; device < task.devices; ++device) {
    std::set<std::int64_t> rows;
    for (std::int64_t sample = 0; sample < task.batch_size / task.devices; ++sample) {
      const std::int64_t length = std::llround(lengths(random));
      lookups += length;
      for (std::int64_t i = 0; i < length; ++i) rows.insert(row_of_rank[ranks(random)]);
    }
    for (const std::int64_t row : rows) {
      asked_for[static_cast<std::size_t>(row * std::ssize(asked_for) / table.rows)] += 1.0;
    }
  }
  mean_lookups = static_cast<double>(lookups) / static_cast<double>(task.batch_size);
  return asked_for;
}

// Popularity says how many rows come back of a table that a plan deduplicates: within 5 % for all
// of it on a device, and for each of its blocks on all devices.
TEST(DeduplicatedTask, RowsThatComeBackAreThoseOfDrawnBatches) {
  for (const double exponent : {0.9, 1.1, 1.3}) {
    for (const int devices : {4, 16}) {
      SCOPED_TRACE(::testing::Message() << exponent << ", " << devices << " devices");
      constexpr std::int64_t kRows = 96'000;
      Task task = unpooled_task(kRows, 5.0, exponent, devices, 65536);
      task.exchange.deduplicate_ids = false;
      Table& table = task.tables.front();
      table.pooling = Pooling::kSum;
      table.weighted = true;
      table.popularity = zipf_popularity(kRows, exponent);
      const auto blocks = static_cast<std::size_t>(devices);
      const std::vector<double> drawn = draw_blocks(task, exponent, blocks, table.pooling_factor);
      const std::vector<int> of_plan = {0};
      const DeduplicatedTask deduplicated(task, of_plan);
      const Table& left = deduplicated.task().tables.front();
      EXPECT_EQ(left.pooling, Pooling::kNone);
      EXPECT_FALSE(left.weighted);
      const auto samples = static_cast<double>(task.batch_size);
      const double all = std::accumulate(drawn.begin(), drawn.end(), 0.0);
      EXPECT_NEAR(left.pooling_factor * samples / all, 1.0, 0.05);
      const std::int64_t rows = kRows / devices;
      for (std::size_t block = 0; block < blocks; ++block) {
        const auto first = static_cast<std::int64_t>(block) * rows;
        const Table of_block = table_of(deduplicated.task(), {0, 0, 16, first, rows});
        EXPECT_NEAR(of_block.pooling_factor * samples / drawn[block], 1.0, 0.05);
      }
    }
  }
}

// Each device of a replica looks up the distinct rows of its own part, once.
TEST(DeduplicatedTask, ReplicasLookUpEachRowOfADevicesPartOnce) {
  Task task = unpooled_task(20'000, 4.0, 1.1, 8, 65536);
  task.tables[0].replica_gradients = ReplicaGradients::kTouched;
  const DeduplicatedTask deduplicated(task);
  const Table& left = deduplicated.task().tables.front();
  const double samples = samples_of_replicas(task);
  const AccessProfile profile = access_profile(left, HistogramScale(samples), samples);
  EXPECT_NEAR(profile.distinct_rows, profile.lookups, 1e-6 * profile.lookups);
  // Gradients that are gathered do not change: they are those of touched rows already.
  EXPECT_NEAR(TouchedGradients(deduplicated.task()).gathered_rows(left) /
                  TouchedGradients(task).gathered_rows(task.tables[0]),
              1.0, 1e-6);
}

TEST(DeduplicatedTask, PopularBlocksOfRowsHaveMoreDuplicates) {
  Task task = unpooled_task(20'000, 4.0, 1.1, 8, 65536);
  task.tables[0].row_shares = {0.9, 0.1};
  const DeduplicatedTask deduplicated(task);
  const Table& left = deduplicated.task().tables.front();
  ASSERT_EQ(left.row_shares.size(), 2U);
  EXPECT_NEAR(left.row_shares[0] + left.row_shares[1], 1.0, 1e-12);
  EXPECT_LT(left.row_shares[0], 0.85);
  EXPECT_GT(left.row_shares[0], 0.5);
  // Blocks share the lookups that are left out.
  double sum = 0.0;
  for (const std::int64_t first : {0, 10'000}) {
    sum += table_of(deduplicated.task(), {0, 0, 16, first, 10'000}).pooling_factor;
  }
  EXPECT_NEAR(sum, left.pooling_factor, 1e-9);
}

TEST(DeduplicatedTask, TablesThatNothingIsKnownOfAreTouchedEvenly) {
  Task task = unpooled_task(100, 8.0, 1.0, 4, 4096);
  task.tables[0].access_histogram = {};
  const DeduplicatedTask deduplicated(task);
  // Each of 4 devices looks up 8,192 times in 100 rows.
  EXPECT_NEAR(deduplicated.task().tables[0].pooling_factor, 4.0 * 100.0 / 4096.0, 1e-9);
  task.tables[0].pooling_factor = 0.0;
  const DeduplicatedTask nothing(task);
  EXPECT_EQ(nothing.task().tables[0].pooling_factor, 0.0);
}

}  // namespace
}  // namespace neuroshard
