// Plans with tables in other parts than halves, as the planner finds them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "neuroshard/planner.h"
#include "neuroshard/weights.h"
#include "plain_table.h"
#include "search/planned_cuts.h"

namespace neuroshard {
namespace {

using testing::expect_good;
using testing::plain_table;
using testing::planner_of;

/// Tables whose columns cannot be halved.
Task of_dims(const std::vector<int>& dims, int devices) {
  Task task{.devices = devices, .memory_bytes = std::int64_t{1} << 33};
  for (std::size_t i = 0; i < dims.size(); ++i) {
    task.tables.push_back(plain_table(2'000'000 + static_cast<std::int64_t>(i), dims[i], 8.0));
  }
  return task;
}

double columns_over_any(const Task& task) {
  const Planner planner = planner_of(Effort::kFast);
  const PlanResult any = planner.plan(task);
  expect_good(planner, task, any);
  const PlanResult by_columns = planner_of(Effort::kFast, Cuts::kColumns).plan(task);
  return by_columns.cost.cost_ms / any.cost.cost_ms;
}

TEST(ColumnWidths, CutsColumnsThatHaveNoHalves) {
  EXPECT_GT(columns_over_any(of_dims({100, 100, 100, 100}, 16)), 2.0);
  EXPECT_GT(columns_over_any(of_dims({100, 36, 20, 44, 64, 128}, 32)), 1.5);
  // Halving cuts finely enough.
  EXPECT_NEAR(columns_over_any(of_dims({64, 128, 64, 128, 64, 128, 64, 128}, 4)), 1.0, 1e-2);
}

TEST(ColumnWidths, FindsRoomForColumnsThatHaveNoHalves) {
  Task task = of_dims({100, 36}, 8);
  task.memory_bytes = task.tables[0].size_bytes() / 4;
  for (Table& table : task.tables) {
    table.rules.kinds = {ShardingKind::kTable, ShardingKind::kColumn};
  }
  EXPECT_FALSE(planner_of(Effort::kFast, Cuts::kColumns).plan(task).plan);
  for (const Effort effort : {Effort::kFast, Effort::kDefault}) {
    const Planner planner = planner_of(effort);
    const PlanResult result = planner.plan(task);
    expect_good(planner, task, result);
    EXPECT_FALSE(result.infeasible);
    EXPECT_FALSE(has_row_blocks(task, *result.plan));
  }
}

TEST(ColumnWidths, CutsToEqualWidthsIfAsked) {
  const Task task = of_dims({100, 36, 44, 128}, 16);
  const auto planner_with = [](Cuts cuts) {
    return Planner(builtin_weights(),
                   {.effort = Effort::kFast, .equal_widths = true, .cuts = cuts, .threads = 1});
  };
  const Planner planner = planner_with(Cuts::kAny);
  const PlanResult result = planner.plan(task);
  expect_good(planner, task, result);
  EXPECT_LT(result.cost.cost_ms, 0.8 * planner_with(Cuts::kColumns).plan(task).cost.cost_ms);
  std::vector<int> widths(task.tables.size());
  for (const TableSlice& slice : result.plan->slices) {
    int& width = widths[static_cast<std::size_t>(slice.table)];
    if (width == 0) width = slice.dim;
    EXPECT_EQ(slice.dim, width) << slice.table;
  }
  EXPECT_LT(widths[0], 100);
}

TEST(ColumnWidths, KeepsToRulesOnColumns) {
  Task task = of_dims({12, 100, 100, 36}, 16);
  task.tables[0].rules.no_split = true;
  task.tables[1].rules.max_slices = 3;
  task.tables[2].rules.min_width = 30;
  const Planner planner = planner_of(Effort::kFast);
  const PlanResult result = planner.plan(task);
  expect_good(planner, task, result);
  const auto slices_of = [&](int table) {
    return std::ranges::count(result.plan->slices, table, &TableSlice::table);
  };
  EXPECT_EQ(slices_of(0), 1);
  EXPECT_EQ(slices_of(1), 3);
  EXPECT_EQ(slices_of(2), 3);
}

}  // namespace
}  // namespace neuroshard
