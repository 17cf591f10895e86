#include "weights/lookups/row_history.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <map>
#include <set>
#include <vector>

#include "core/base/random.h"
#include "repetitions.h"

namespace neuroshard {
namespace {

using Batches = std::vector<std::vector<std::int64_t>>;

Batches random_batches(std::uint64_t seed) {
  Random random(seed);
  const std::int64_t rows = 1 + static_cast<std::int64_t>(random.below(300));
  Batches batches(2 + random.below(30));
  for (auto& batch : batches) {
    batch.resize(random.below(200));
    for (std::int64_t& row : batch) {
      const double place = random.uniform() * random.uniform();
      row = static_cast<std::int64_t>(place * static_cast<double>(rows));
      if (row % 7 == 3) row += std::int64_t{1} << 30;
    }
  }
  return batches;
}

/// Misses of the batches of the second half, by a cache of so many rows as the definition has it.
std::int64_t simulated_misses(const Batches& batches, std::size_t cache_rows) {
  std::list<std::int64_t> cached;  // The row that was looked up last first.
  std::int64_t misses = 0;
  for (std::size_t b = 0; b < batches.size(); ++b) {
    const std::set<std::int64_t> distinct(batches[b].begin(), batches[b].end());
    for (const std::int64_t row : distinct) {
      if (2 * b >= batches.size() && std::ranges::find(cached, row) == cached.end()) ++misses;
    }
    for (const std::int64_t row : batches[b]) {
      std::erase(cached, row);
      cached.push_front(row);
    }
    if (cached.size() > cache_rows) cached.resize(cache_rows);
  }
  return misses;
}

TEST(RowHistory, CountsWhatSimulatedCachesMiss) {
  RowHistory history(true);
  for (const std::uint64_t seed : testing::Seeds(testing::repetitions(25))) {
    const Batches batches = random_batches(seed);
    for (std::size_t b = 0; b < batches.size(); ++b) {
      const std::span<const std::int64_t> all(batches[b]);
      const std::size_t part = all.size() / 3;
      history.add(all.first(part));
      history.add(all.subspan(part));
      history.end_batch(2 * b >= batches.size());
    }
    const MissCurve curve = history.miss_curve();
    const auto counted = static_cast<double>(batches.size() / 2);
    for (const auto& [cache_rows, misses] : curve.points) {
      const std::int64_t simulated =
          simulated_misses(batches, static_cast<std::size_t>(cache_rows));
      EXPECT_DOUBLE_EQ(misses * counted, static_cast<double>(simulated)) << cache_rows;
    }
    EXPECT_EQ(curve.lookups, curve.points.front().misses);
    EXPECT_EQ(curve.first_lookups, curve.points.back().misses);
    history.clear();
  }
}

TEST(RowHistory, CountsTouchesOfBatchesAndOfAllOfThem) {
  RowHistory history(false);
  for (const std::uint64_t seed : testing::Seeds(testing::repetitions(25))) {
    std::map<std::int64_t, std::uint32_t> touches;
    std::array<std::int64_t, kHistogramBins> rows_by_bin{};
    for (const auto& batch : random_batches(seed)) {
      history.add(batch);
      history.end_batch(true);
      std::map<std::int64_t, int> of_batch;
      for (const std::int64_t row : batch) {
        ++touches[row];
        ++of_batch[row];
      }
      for (const auto& [row, count] : of_batch) {
        std::size_t bin = 0;
        while ((1 << bin) < count) ++bin;
        ++rows_by_bin[bin];
      }
    }
    std::map<std::uint32_t, std::int64_t> rows_by_touches;
    for (const auto& [row, count] : touches) ++rows_by_touches[count];
    EXPECT_EQ(history.rows_by_touches(), rows_by_touches);
    EXPECT_EQ(history.rows_by_bin(), rows_by_bin);
    EXPECT_EQ(history.largest_row(), touches.empty() ? -1 : touches.rbegin()->first);
    history.clear();
  }
}

}  // namespace
}  // namespace neuroshard
