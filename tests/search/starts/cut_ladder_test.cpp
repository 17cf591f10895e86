#include "search/starts/cut_ladder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "random_tasks.h"
#include "repetitions.h"
#include "search/random_layouts.h"

namespace neuroshard {
namespace {

using testing::CatalogedTask;
using testing::columns_of;
using testing::cpu_backend_of;
using testing::random_models;
using testing::random_task;
using testing::repetitions;

constexpr std::size_t kNoBound = std::numeric_limits<std::size_t>::max();

Task one_small_table(int devices) {
  Task task;
  task.devices = devices;
  task.memory_bytes = 1'000'000;
  Table& table = task.tables.emplace_back();
  table.rows = 1000;
  table.dim = 4;
  table.pooling_factor = 1.0;
  table.access_histogram[0] = 1.0;
  return task;
}

std::int64_t columns(const Task& task) {
  return std::accumulate(task.tables.begin(), task.tables.end(), std::int64_t{0},
                         [](std::int64_t sum, const Table& table) { return sum + table.dim; });
}

void expect_ladder(const CatalogedTask& cataloged, int fineness, std::size_t most_slices) {
  const std::vector<LadderRung> rungs =
      cut_ladder(cataloged.catalog, cataloged.task, fineness, most_slices);
  ASSERT_FALSE(rungs.empty());
  std::set<std::pair<std::vector<std::uint32_t>, LadderRung::Order>> seen;
  std::size_t total = 0;
  std::size_t before = 0;
  for (const LadderRung& rung : rungs) {
    EXPECT_TRUE(seen.insert({rung.piece_of_table, rung.order}).second);
    EXPECT_GE(rung.slices, before);
    before = rung.slices;
    if (&rung != &rungs.front()) total += rung.slices;

    const Layout layout = ordered_slices(cataloged.catalog, rung);
    EXPECT_EQ(layout.size(), rung.slices);
    for (std::uint32_t table = 0; table < cataloged.catalog.tables(); ++table) {
      EXPECT_EQ(columns_of(cataloged.catalog, layout, table), cataloged.task.tables[table].dim);
    }
    for (std::size_t i = 0; i < layout.size(); ++i) {
      const std::uint32_t piece = layout[i].piece;
      EXPECT_EQ(piece, rung.piece_of_table[layout[i].table]);
      EXPECT_EQ(layout[i].device, 0U);
      EXPECT_TRUE(cataloged.catalog.size_bytes(piece) <= cataloged.task.memory_bytes ||
                  !cataloged.catalog.can_split(piece));
      if (i == 0) continue;
      const std::uint32_t last = layout[i - 1].piece;
      const bool by_columns = rung.order == LadderRung::Order::kColumns;
      if (by_columns) {
        EXPECT_GE(cataloged.catalog.dim(last), cataloged.catalog.dim(piece));
      }
      if (!by_columns || cataloged.catalog.dim(last) == cataloged.catalog.dim(piece)) {
        EXPECT_GE(cataloged.catalog.cost_ms(last), cataloged.catalog.cost_ms(piece));
      }
    }
  }
  EXPECT_LE(total, most_slices);
}

TEST(CutLadder, HasDistinctRungsFromFewSlicesToMany) {
  const CpuBackend backend = cpu_backend_of(random_models(31));
  for (std::uint64_t seed = 0; seed < repetitions(60); ++seed) {
    SCOPED_TRACE(seed);
    const CatalogedTask cataloged(backend, random_task(seed));
    for (const int fineness : {1, 4}) {
      for (const std::size_t most_slices : {std::size_t{0}, std::size_t{500}, kNoBound}) {
        expect_ladder(cataloged, fineness, most_slices);
      }
    }
  }
}

TEST(CutLadder, ABoundTakesItsFinestRungsOnly) {
  const CpuBackend backend = cpu_backend_of(random_models(32));
  const CatalogedTask cataloged(backend, random_task(6));
  const std::vector<LadderRung> all = cut_ladder(cataloged.catalog, cataloged.task, 4, kNoBound);
  ASSERT_GT(all.size(), 4U);
  const std::vector<LadderRung> some =
      cut_ladder(cataloged.catalog, cataloged.task, 4, all[1].slices + all[2].slices);
  ASSERT_EQ(some.size(), 3U);
  for (std::size_t i = 0; i < some.size(); ++i) {
    EXPECT_EQ(some[i].piece_of_table, all[i].piece_of_table);
    EXPECT_EQ(some[i].order, all[i].order);
  }
}

TEST(CutLadder, ReachesFromWholeTablesToTheNarrowestSlices) {
  const CpuBackend backend = cpu_backend_of(random_models(33));
  for (std::uint64_t seed = 0; seed < repetitions(30); ++seed) {
    SCOPED_TRACE(seed);
    Task task = random_task(seed);
    task.memory_bytes = bytes_from_gib(1000.0);
    const CatalogedTask cataloged(backend, task);
    const std::vector<LadderRung> rungs =
        cut_ladder(cataloged.catalog, cataloged.task, 2, kNoBound);
    for (std::size_t table = 0; table < cataloged.catalog.tables(); ++table) {
      // No table is wider than the widest width.
      EXPECT_EQ(std::any_of(rungs.begin(), rungs.end(),
                            [&](const LadderRung& rung) {
                              return rung.piece_of_table[table] == cataloged.catalog.whole(table);
                            }),
                true);
      EXPECT_FALSE(cataloged.catalog.can_split(rungs.back().piece_of_table[table]));
    }
  }
}

TEST(CutLadder, OfATableThatCannotBeCutIsOneCut) {
  const CpuBackend backend = cpu_backend_of(random_models(34));
  for (const int devices : {1, 2, kMaxDevices}) {
    const CatalogedTask cataloged(backend, one_small_table(devices));
    for (const LadderRung& rung : cut_ladder(cataloged.catalog, cataloged.task, 4, kNoBound)) {
      EXPECT_EQ(rung.slices, 1U);
    }
    EXPECT_EQ(ladder_dim_limits(cataloged.task), std::vector<std::int64_t>{4});
  }
}

TEST(LadderDimLimits, AscendFromTheMeanToNoLimit) {
  for (std::uint64_t seed = 0; seed < repetitions(300); ++seed) {
    SCOPED_TRACE(seed);
    const Task task = random_task(seed);
    const std::vector<std::int64_t> limits = ladder_dim_limits(task);
    EXPECT_GE(limits.front() * task.devices, columns(task));
    EXPECT_LT((limits.front() - kDimMultiple) * task.devices, columns(task));
    EXPECT_EQ(limits.back(), columns(task));
    EXPECT_TRUE(std::is_sorted(limits.begin(), limits.end(), std::less_equal<>()));
    for (const std::int64_t limit : limits) EXPECT_EQ(limit % kDimMultiple, 0);
  }
}

}  // namespace
}  // namespace neuroshard
