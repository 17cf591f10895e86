#include "weights/collection/cpu_source.h"

#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "neuroshard/error.h"
#include "weights/lookups/random_tables.h"

namespace neuroshard {
namespace {

std::vector<Table> tables_of_thousands_of_rows() {
  Random random(41);
  std::vector<Table> tables;
  for (int i = 0; i < 6; ++i) {
    tables.push_back(random_table(random, 128));
    tables.back().rows = 1000 + 500 * i;
  }
  return tables;
}

TEST(MedianMs, LeavesOutTheWarmUpAndPreparesEachRun) {
  int prepared = 0;
  std::vector<double> times{100.0, 100.0, 4.0, 1.0, 3.0, 2.0};
  std::size_t next = 0;
  const double median = median_ms(
      {.warm_up = 2, .iterations = 4}, [&] { ++prepared; }, [&] { return times[next++]; });
  EXPECT_EQ(median, 2.5);
  EXPECT_EQ(prepared, 6);
  EXPECT_THROW((void)median_ms(
                   {.warm_up = 0, .iterations = 0}, [] {}, [] { return 1.0; }),
               Error);
}

TEST(StreamStore, MakesTheSameLookupsAgainAfterDroppingThem) {
  const std::vector<Table> tables = tables_of_thousands_of_rows();
  StreamStore roomy(tables, 500, 3, std::size_t{1} << 30);
  StreamStore tight(tables, 500, 3, 0);
  for (const std::size_t t : {0u, 3u, 0u, 5u, 3u}) {
    EXPECT_EQ(tight.stream(t)->indices, roomy.stream(t)->indices);
  }
  EXPECT_EQ(roomy.stream(2), roomy.stream(2));
}

TEST(StreamStore, ServesManyThreads) {
  const std::vector<Table> tables = tables_of_thousands_of_rows();
  StreamStore store(tables, 200, 3, 20'000);
  StreamStore expected(tables, 200, 3, std::size_t{1} << 30);
  std::vector<std::jthread> threads;
  std::atomic<int> wrong{0};
  std::vector<std::vector<std::int64_t>> lookups;
  for (std::size_t t = 0; t < tables.size(); ++t) lookups.push_back(expected.stream(t)->indices);
  for (std::uint64_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      Random random(thread);
      for (int i = 0; i < 100; ++i) {
        const auto table = random.below(tables.size());
        if (store.stream(table)->indices != lookups[table]) ++wrong;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(wrong, 0);
}

TEST(CpuSource, MeasuresEveryShard) {
  const std::vector<Table> base = tables_of_thousands_of_rows();
  const std::vector<Table> tables = augment_dims(base, 64);
  StreamStore streams(base, 300, 4, std::size_t{1} << 30);
  const auto source = make_cpu_source(
      tables, streams, base.size(),
      {.protocol = {.warm_up = 1, .iterations = 3}, .memory_bytes = 20 << 20, .threads = 2});
  for (const std::vector<int>& ids : {std::vector<int>{0}, {29, 0, 7, 7}, {1, 2, 3, 4, 5, 20}}) {
    const double cost = source->cost_ms(ids);
    EXPECT_TRUE(std::isfinite(cost));
    EXPECT_GT(cost, 0.0);
  }
}

TEST(CpuSource, RefusesWhatDoesNotFit) {
  std::vector<Table> base = tables_of_thousands_of_rows();
  StreamStore streams(base, 300, 4, 0);
  const auto source =
      make_cpu_source(base, streams, base.size(), {.protocol = {}, .memory_bytes = 1000});
  EXPECT_THROW((void)source->cost_ms(std::vector<int>{0}), Error);
  base[0].rows = std::int64_t{1} << 33;
  EXPECT_THROW((void)make_cpu_source(base, streams, base.size(), {}), Error);
}

TEST(CpuName, IsNotEmpty) { EXPECT_NE(cpu_name(), ""); }

}  // namespace
}  // namespace neuroshard
