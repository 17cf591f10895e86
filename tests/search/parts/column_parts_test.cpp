#include "search/parts/column_parts.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>

#include "neuroshard/plan_check.h"
#include "neuroshard/weights.h"
#include "random_tasks.h"
#include "repetitions.h"
#include "search/random_layouts.h"

namespace neuroshard {
namespace {

using testing::cpu_backend_of;
using ::testing::ElementsAre;
using testing::random_task;
using testing::repetitions;

PartialTask whole(Task task) {
  PartialTask part{.task = std::move(task), .tables = {}};
  part.tables.resize(part.task.tables.size());
  std::iota(part.tables.begin(), part.tables.end(), 0U);
  return part;
}

Task awkward_task(std::uint64_t seed, std::mt19937_64& random) {
  Task task = random_task(seed);
  for (Table& table : task.tables) {
    table.dim = 4 * static_cast<int>(1 + random() % 40);
    if (random() % 4 == 0) table.rules.max_slices = static_cast<int>(1 + random() % 5);
    if (random() % 4 == 0) table.rules.min_width = static_cast<int>(1 + random() % 4) * 3;
    if (table.rules.min_width > table.dim) table.rules.min_width = 0;
  }
  return task;
}

TEST(ColumnParts, HaveEachColumnOnceAndKeepToRules) {
  const CpuBackend backend = cpu_backend_of(builtin_weights());
  std::mt19937_64 random(5);
  int cut_tables = 0;
  for (std::uint64_t seed = 0; seed < repetitions(60); ++seed) {
    SCOPED_TRACE(seed);
    const PartialTask part = whole(awkward_task(seed, random));
    const bool equal_widths = seed % 2 == 1;
    const auto cut = with_column_parts(backend, part, 0.3, equal_widths);
    if (!cut) continue;
    validate(cut->task);
    ASSERT_EQ(cut->tables.size(), cut->task.tables.size());
    ASSERT_EQ(cut->tables.size(), cut->first_columns.size());
    EXPECT_TRUE(std::ranges::is_sorted(cut->tables));
    std::vector<int> next_column(part.task.tables.size());
    std::map<std::uint32_t, std::vector<int>> widths;
    for (std::size_t i = 0; i < cut->tables.size(); ++i) {
      EXPECT_EQ(cut->first_columns[i], next_column[cut->tables[i]]);
      next_column[cut->tables[i]] += cut->task.tables[i].dim;
      widths[cut->tables[i]].push_back(cut->task.tables[i].dim);
    }
    for (std::size_t t = 0; t < part.task.tables.size(); ++t) {
      const Table& table = part.task.tables[t];
      EXPECT_EQ(next_column[t], table.dim);
      const std::vector<int>& of_table = widths[static_cast<std::uint32_t>(t)];
      if (of_table.size() == 1) continue;
      ++cut_tables;
      const auto [least, most] = std::ranges::minmax(of_table);
      EXPECT_LE(most - least, equal_widths ? 0 : kDimMultiple);
      EXPECT_GE(least, table.rules.min_width);
      if (table.rules.max_slices > 0) {
        EXPECT_LE(static_cast<int>(of_table.size()), table.rules.max_slices);
      }
    }
  }
  EXPECT_GT(cut_tables, 0);
}

TEST(ColumnParts, OfTablesThatHalveWellAreNone) {
  const CpuBackend backend = cpu_backend_of(builtin_weights());
  Task task = random_task(3);
  for (Table& table : task.tables) table.dim = 64;
  EXPECT_FALSE(with_column_parts(backend, whole(task), 0.01, false));
}

TEST(ColumnParts, AreMadeWhereRulesAllowMoreThanHalvingUses) {
  const CpuBackend backend = cpu_backend_of(builtin_weights());
  Task task = random_task(3);
  task.devices = 8;
  for (Table& table : task.tables) table.dim = 64;
  const auto widths_of_first = [&] {
    std::vector<int> widths;
    const auto cut = with_column_parts(backend, whole(task), 0.01, false);
    for (std::size_t i = 0; cut && i < cut->tables.size() && cut->tables[i] == 0; ++i) {
      widths.push_back(cut->task.tables[i].dim);
    }
    return widths;
  };
  task.tables[0].dim = 96;
  task.tables[0].rules.min_width = 32;  // Halves of a half are too narrow.
  EXPECT_THAT(widths_of_first(), ElementsAre(32, 32, 32));
  task.tables[0].dim = 64;
  task.tables[0].rules = {.max_slices = 3};  // A half and two quarters.
  EXPECT_THAT(widths_of_first(), ElementsAre(20, 20, 24));
}

TEST(ColumnParts, OfOneDeviceBecomeOneSlice) {
  Task task;
  task.devices = 2;
  task.memory_bytes = 1 << 20;
  for (const int dim : {20, 8}) {
    Table& table = task.tables.emplace_back();
    table.rows = 10;
    table.dim = dim;
  }
  PartialTask part = whole(task);
  part.tables = {0, 0, 0, 1};
  Plan plan{.slices = {{0, 0, 8, 0, 10},
                       {0, 8, 8, 0, 10},
                       {0, 16, 4, 0, 10},
                       {1, 0, 4, 0, 10},
                       {1, 4, 4, 0, 10}},
            .shards = {{0, 3, 2, 4}, {1}}};
  join_column_parts(task, part, plan);
  EXPECT_TRUE(check_plan(plan, task).empty());
  ASSERT_EQ(plan.slices.size(), 4U);  // Table 1 has no parts, so that its slices stay.
  EXPECT_EQ(plan.slices[static_cast<std::size_t>(plan.shards[0][0])].dim, 12);
  EXPECT_EQ(plan.slices[static_cast<std::size_t>(plan.shards[1][0])].dim, 8);

  const Plan by_rows{.slices = {{0, 0, 20, 0, 5}, {0, 0, 20, 5, 5}, {1, 0, 8, 0, 10}},
                     .shards = {{0, 1}, {2}}};
  Plan same = by_rows;
  join_column_parts(task, part, same);
  EXPECT_EQ(same, by_rows);
}

}  // namespace
}  // namespace neuroshard
