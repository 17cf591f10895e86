#include "search/improvement/tidying.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "neuroshard/weights.h"
#include "numbers.h"
#include "random_tasks.h"
#include "repetitions.h"
#include "search/random_layouts.h"

namespace neuroshard {
namespace {

using testing::CatalogedTask;
using testing::columns_of;
using testing::cpu_backend_of;
using testing::kInfinity;
using testing::most_memory_bytes;
using testing::random_layout;
using testing::random_models;
using testing::random_task;
using testing::repetitions;

const StopCondition kNotStopped;

Task two_tables(int devices) {
  Task task;
  task.devices = devices;
  task.memory_bytes = bytes_from_gib(4.0);
  for (const int rows : {100'000, 200'000}) {
    Table& table = task.tables.emplace_back();
    table.rows = rows;
    table.dim = 64;
    table.pooling_factor = 4.0;
    table.access_histogram[0] = 1.0;
  }
  return task;
}

TEST(Tidying, KeepsCostMemoryAndColumns) {
  for (const CostModels& models : {builtin_weights(), random_models(81)}) {
    const CpuBackend backend = cpu_backend_of(models);
    std::mt19937_64 random(81);
    std::size_t joined = 0;
    for (std::uint64_t seed = 0; seed < repetitions(40); ++seed) {
      SCOPED_TRACE(seed);
      const CatalogedTask cataloged(backend, random_task(seed));
      const Layout start = random_layout(cataloged, 2.0, random);
      const double start_ms = cost_of(backend, cataloged.catalog, cataloged.task, start).cost_ms;
      for (const double slack : {0.0, 0.001, 0.1}) {
        const double most_ms = start_ms + slack * std::abs(start_ms);
        const Layout tidy =
            tidied(backend, cataloged.catalog, cataloged.task, start, most_ms, kNotStopped);
        EXPECT_LE(cost_of(backend, cataloged.catalog, cataloged.task, tidy).cost_ms,
                  most_ms + 1e-5 * std::max(std::abs(most_ms), 1.0));
        EXPECT_LE(tidy.size(), start.size());
        joined += start.size() - tidy.size();
        for (std::uint32_t table = 0; table < cataloged.catalog.tables(); ++table) {
          EXPECT_EQ(columns_of(cataloged.catalog, tidy, table), cataloged.task.tables[table].dim);
        }
        EXPECT_LE(most_memory_bytes(cataloged.catalog, cataloged.task, tidy),
                  std::max(cataloged.task.memory_bytes,
                           most_memory_bytes(cataloged.catalog, cataloged.task, start)));
      }
    }
    EXPECT_GT(joined, repetitions(40));
  }
}

TEST(Tidying, WithoutALimitEveryTableIsWholeAgain) {
  const CpuBackend backend = cpu_backend_of(random_models(82));
  std::mt19937_64 random(82);
  for (std::uint64_t seed = 0; seed < repetitions(40); ++seed) {
    SCOPED_TRACE(seed);
    Task task = random_task(seed);
    task.memory_bytes = bytes_from_gib(100'000.0);
    const CatalogedTask cataloged(backend, task);
    const Layout tidy = tidied(backend, cataloged.catalog, cataloged.task,
                               random_layout(cataloged, 2.0, random), kInfinity, kNotStopped);
    EXPECT_EQ(tidy.size(), task.tables.size());
  }
}

// A join makes what an earlier slice was waiting for.
TEST(Tidying, ComesBackToSlicesThatFoundNoHalfAtFirst) {
  const CpuBackend backend = cpu_backend_of(builtin_weights());
  const CatalogedTask cataloged(backend, two_tables(2));
  const std::uint32_t whole = cataloged.catalog.whole(0);
  const Layout start = {
      {whole + 1, 0, 0}, {whole + 2, 0, 1}, {whole + 2, 0, 1}, {cataloged.catalog.whole(1), 1, 1}};
  const Layout tidy =
      tidied(backend, cataloged.catalog, cataloged.task, start, kInfinity, kNotStopped);
  EXPECT_EQ(tidy.size(), 2U);
}

TEST(Tidying, JoinsHalvesOnOneDevice) {
  const CpuBackend backend = cpu_backend_of(builtin_weights());
  const CatalogedTask cataloged(backend, two_tables(2));
  const std::uint32_t half = cataloged.catalog.whole(0) + 1;
  const Layout start = {{half, 0, 0}, {half, 0, 0}, {cataloged.catalog.whole(1), 1, 1}};
  const double start_ms = cost_of(backend, cataloged.catalog, cataloged.task, start).cost_ms;
  Layout tidy =
      tidied(backend, cataloged.catalog, cataloged.task, start, 1.001 * start_ms, kNotStopped);
  sort_layout(tidy);
  EXPECT_EQ(tidy, (Layout{{cataloged.catalog.whole(0), 0, 0}, {cataloged.catalog.whole(1), 1, 1}}));
}

TEST(Tidying, JoinsNothingWhereMemoryOrTimeForbids) {
  const CpuBackend backend = cpu_backend_of(builtin_weights());
  Task task = two_tables(2);
  const CatalogedTask roomy(backend, task);
  const std::uint32_t a = roomy.catalog.whole(0) + 1;
  const std::uint32_t b = roomy.catalog.whole(1) + 1;
  const Layout halved = {{a, 0, 0}, {b, 1, 0}, {a, 0, 1}, {b, 1, 1}};
  const StopCondition past(StopCondition::Clock::now() - std::chrono::seconds(1), {});
  EXPECT_EQ(tidied(backend, roomy.catalog, roomy.task, halved, kInfinity, past), halved);
  EXPECT_EQ(tidied(backend, roomy.catalog, roomy.task, halved, kInfinity, kNotStopped).size(), 2U);

  task.memory_bytes = most_memory_bytes(roomy.catalog, roomy.task, halved);
  const CatalogedTask full(backend, task);
  EXPECT_EQ(tidied(backend, full.catalog, full.task, halved, kInfinity, kNotStopped), halved);
}

}  // namespace
}  // namespace neuroshard
