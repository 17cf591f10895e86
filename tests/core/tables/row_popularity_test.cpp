// Reuse of rows beside caches that are simulated lookup by lookup.
#include "core/tables/row_popularity.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <list>
#include <random>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "batches_in_cache.h"
#include "neuroshard/zipf_histogram.h"

namespace neuroshard {
namespace {

constexpr std::int64_t kRows = 20'000;
constexpr int kSamples = 500;

Table table_of_zipf(double exponent) {
  return {.name = {},
          .rows = kRows,
          .dim = 4,
          .pooling_factor = 2.0,
          .popularity = zipf_popularity(kRows, exponent)};
}

/// Rows of a batch, each lookup by itself.
class Lookups {
 public:
  explicit Lookups(double exponent) : random_(11) {
    std::vector<double> weights;
    for (std::int64_t row = 1; row <= kRows; ++row) {
      weights.push_back(std::pow(static_cast<double>(row), -exponent));
    }
    rows_ = std::discrete_distribution<std::int64_t>(weights.begin(), weights.end());
  }
  /// Each once, in no order.
  std::vector<std::int64_t> batch() {
    std::set<std::int64_t> distinct;
    for (int i = 0; i < 2 * kSamples; ++i) distinct.insert(rows_(random_));
    std::vector<std::int64_t> rows(distinct.begin(), distinct.end());
    std::shuffle(rows.begin(), rows.end(), random_);
    return rows;
  }

 private:
  std::mt19937_64 random_;
  std::discrete_distribution<std::int64_t> rows_;
};

/// Misses of a batch, on average, of a cache that keeps the rows which were looked up last.
double lru_misses(double exponent, std::size_t capacity) {
  Lookups lookups(exponent);
  std::list<std::int64_t> order;  // The last one first.
  std::unordered_map<std::int64_t, std::list<std::int64_t>::iterator> cached;
  constexpr int kWarm = 400;
  constexpr int kCounted = 400;
  double misses = 0.0;
  for (int i = 0; i < kWarm + kCounted; ++i) {
    for (const std::int64_t row : lookups.batch()) {
      if (const auto found = cached.find(row); found != cached.end()) {
        order.erase(found->second);
      } else if (i >= kWarm) {
        misses += 1.0;
      }
      order.push_front(row);
      cached[row] = order.begin();
    }
    for (; order.size() > capacity; order.pop_back()) cached.erase(order.back());
  }
  return misses / kCounted;
}

TEST(RowPopularity, ACacheMissesAsManyRowsAsASimulatedOne) {
  // Sanitizers make the simulation slow.
  const std::vector<double> exponents =
      NEUROSHARD_SANITIZED ? std::vector{1.05} : std::vector{0.6, 0.9, 1.05, 1.3};
  const std::vector<std::size_t> capacities = NEUROSHARD_SANITIZED
                                                  ? std::vector<std::size_t>{5'000}
                                                  : std::vector<std::size_t>{1'500, 5'000, 12'000};
  for (const double exponent : exponents) {
    const RowReuse reuse(table_of_zipf(exponent), kSamples);
    for (const std::size_t capacity : capacities) {
      SCOPED_TRACE(::testing::Message() << "exponent " << exponent << ", capacity " << capacity);
      const double simulated = lru_misses(exponent, capacity);
      const double batches = testing::batches_in_cache(reuse, static_cast<double>(capacity));
      // Misses of 400 batches are counted one by one.
      const double noise = 4.0 * std::sqrt(simulated / 400.0);
      EXPECT_NEAR(reuse.looked_up_lately(batches).fetched, simulated, 0.01 * simulated + noise);
    }
  }
}

/// Misses of a batch, on average, of a cache that hands the rows which it drops to a second one,
/// which keeps those that it got last, until they are looked up again; or as FBGEMM's does, with
/// `copies` of rows that it hands back, and of those that both have missed.
struct Misses {
  double first = 0.0;
  double both = 0.0;
};
Misses misses_of_two_caches(double exponent, std::size_t first, std::size_t second,
                            bool copies = false) {
  Lookups lookups(exponent);
  struct Cache {
    std::list<std::int64_t> order;  // The last one first.
    std::unordered_map<std::int64_t, std::list<std::int64_t>::iterator> at;

    bool take_out(std::int64_t row) {
      const auto found = at.find(row);
      if (found == at.end()) return false;
      order.erase(found->second);
      at.erase(found);
      return true;
    }
    void put_first(std::int64_t row) {
      order.push_front(row);
      at[row] = order.begin();
    }
    std::int64_t drop_last() {
      const std::int64_t row = order.back();
      at.erase(row);
      order.pop_back();
      return row;
    }
  };
  Cache hbm;
  Cache host;
  constexpr int kWarm = 400;
  constexpr int kCounted = 400;
  Misses misses;
  for (int i = 0; i < kWarm + kCounted; ++i) {
    for (const std::int64_t row : lookups.batch()) {
      if (!hbm.take_out(row)) {
        misses.first += i >= kWarm ? 1.0 / kCounted : 0.0;
        if (!host.take_out(row)) misses.both += i >= kWarm ? 1.0 / kCounted : 0.0;
        if (copies) host.put_first(row);
      }
      hbm.put_first(row);
    }
    while (hbm.order.size() > first) {
      const std::int64_t row = hbm.drop_last();
      (void)host.take_out(row);
      host.put_first(row);
    }
    while (host.order.size() > second) (void)host.drop_last();
  }
  return misses;
}

TEST(RowPopularity, TwoCachesMissAsManyRowsAsSimulatedOnes) {
  for (const double exponent :
       NEUROSHARD_SANITIZED ? std::vector{1.05} : std::vector{0.6, 1.05, 1.3}) {
    const RowReuse reuse(table_of_zipf(exponent), kSamples);
    for (const std::size_t second : {1'500, 6'000}) {
      SCOPED_TRACE(::testing::Message() << "exponent " << exponent << ", second " << second);
      constexpr std::size_t kFirst = 2'000;
      const Misses simulated = misses_of_two_caches(exponent, kFirst, second);
      const auto expect = [&](double rows, double misses) {
        const double batches = testing::batches_in_cache(reuse, rows);
        const double noise = 4.0 * std::sqrt(misses / 400.0);
        EXPECT_NEAR(reuse.looked_up_lately(batches).fetched, misses, 0.01 * misses + noise);
      };
      expect(kFirst, simulated.first);
      expect(static_cast<double>(kFirst + second), simulated.both);
    }
  }
}

// docs/host_memory.md says by how much.
TEST(RowPopularity, CopiesInASecondCacheCostMisses) {
  const std::vector<double> exponents =
      NEUROSHARD_SANITIZED ? std::vector{1.05} : std::vector{0.6, 1.05, 1.3};
  for (const double exponent : exponents) {
    for (const std::size_t second : {1'500, 6'000}) {
      const double best = misses_of_two_caches(exponent, 2'000, second).both;
      const double with_copies = misses_of_two_caches(exponent, 2'000, second, true).both;
      RecordProperty(std::to_string(exponent) + "_" + std::to_string(second),
                     std::to_string(with_copies / best));
      EXPECT_GT(with_copies, 1.02 * best);
      EXPECT_LT(with_copies, 1.5 * best);
    }
  }
}

TEST(RowPopularity, BatchesTouchAsManyRowsAsTheyDraw) {
  for (const double exponent : {0.6, 1.05, 1.3}) {
    const RowReuse reuse(table_of_zipf(exponent), kSamples);
    Lookups lookups(exponent);
    double distinct = 0.0;
    double unpopular = 0.0;
    const double popular = reuse.popular(8.0).in_hbm;
    for (int i = 0; i < 400; ++i) {
      const std::vector<std::int64_t> batch = lookups.batch();
      distinct += static_cast<double>(batch.size()) / 400.0;
      unpopular +=
          static_cast<double>(std::ranges::count_if(
              batch, [&](std::int64_t row) { return static_cast<double>(row) >= popular; })) /
          400.0;
    }
    EXPECT_NEAR(reuse.looked_up_lately(1.0).in_hbm, distinct, 0.01 * distinct);
    EXPECT_NEAR(reuse.popular(8.0).fetched, unpopular, 0.02 * unpopular);
  }
}

TEST(RowPopularity, IsEstimatedFromAHistogram) {
  for (const double exponent : {0.3, 0.9, 1.05, 1.6}) {
    for (const std::int64_t rows : {3'000, 3'000'000}) {
      Table table{.name = {}, .rows = rows, .dim = 4, .pooling_factor = 4.0};
      table.access_histogram = zipf_histogram(rows, table.pooling_factor, exponent);
      Table stated = table;
      stated.popularity = zipf_popularity(rows, exponent);
      const double samples = 65'536.0;
      for (const double batches : {0.01, 1.0, 10.0, 1'000.0}) {
        const double known = RowReuse(stated, samples).looked_up_lately(batches).in_hbm;
        EXPECT_NEAR(RowReuse(table, samples).looked_up_lately(batches).in_hbm, known, 0.02 * known)
            << exponent << ", " << rows << " rows, " << batches << " batches";
      }
    }
  }
}

TEST(RowPopularity, IsNotEstimatedOnceTimeIsUp) {
  Task task{.tables = {Table{.rows = 1000, .dim = 64, .pooling_factor = 2.0}}, .devices = 1};
  EXPECT_FALSE(with_known_popularity(task).tables.front().popularity.empty());
  const StopCondition over([] { return true; });
  EXPECT_TRUE(with_known_popularity(task, over).tables.front().popularity.empty());
}

TEST(RowPopularity, OfZipfIsWhatItsSumsAre) {
  for (const double exponent : {0.0, 0.5, 1.0, 1.05, 2.0}) {
    double sum = 0.0;
    std::vector<double> sums;
    for (std::int64_t row = 1; row <= kRows; ++row) {
      sums.push_back(sum += std::pow(static_cast<double>(row), -exponent));
    }
    const std::vector<PopularRows> curve = zipf_popularity(kRows, exponent);
    for (const auto& [rows, share] : curve) {
      EXPECT_NEAR(share, sums[static_cast<std::size_t>(rows) - 1] / sum, 2e-5) << rows;
    }
    EXPECT_EQ(popularity_problem_of(curve, kRows), std::nullopt);
    EXPECT_EQ(curve.back().rows, static_cast<double>(kRows));
  }
  EXPECT_EQ(zipf_popularity(1, 1.0).size(), 1U);
  EXPECT_LE(zipf_popularity(kMaxRows, 1.0).size(), kMostPopularityPoints);
}

TEST(RowPopularity, SaysWhatIsWrongWithACurve) {
  const auto problem = [](std::vector<PopularRows> curve) {
    return popularity_problem_of(curve, 100).value_or("");
  };
  EXPECT_EQ(problem({}), "");
  EXPECT_EQ(problem({{10.0, 0.9}, {50.0, 1.0}}), "");
  EXPECT_NE(problem({{10.0, 0.9}, {10.0, 1.0}}).find("both growing"), std::string::npos);
  EXPECT_NE(problem({{10.0, 0.1}, {20.0, 1.0}}).find("hottest rows first"), std::string::npos);
  EXPECT_NE(problem({{10.0, 0.9}, {200.0, 1.0}}).find("has 100"), std::string::npos);
  EXPECT_NE(problem({{10.0, 0.9}}).find("a share of 1"), std::string::npos);
  EXPECT_NE(problem(std::vector<PopularRows>(2'000)).find("at most 1024"), std::string::npos);
}

}  // namespace
}  // namespace neuroshard
