#include "search/hot_rows/popular_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "core/plans/equal_blocks.h"
#include "neuroshard/plan_check.h"

namespace neuroshard {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Tables of so many rows on four devices.
Task task_of_rows(std::initializer_list<std::int64_t> rows) {
  Task task;
  for (const std::int64_t count : rows) {
    Table table{.name = {}, .rows = count, .dim = 16, .pooling_factor = 3.0};
    table.access_histogram[1] = 1.0;
    task.tables.push_back(table);
  }
  task.devices = 4;
  task.memory_bytes = std::int64_t{1} << 30;
  task.exchange.hot_rows = true;
  return task;
}

// Row-wise tables stay row-wise, to the row, or the search would not know them as such.
TEST(OtherHotRows, LeaveEqualBlocksEqual) {
  for (const std::int64_t rows : {1000, 1001, 1002, 1003, 4001}) {
    const Task task = task_of_rows({rows});
    Plan plan{.slices = {}, .shards = {{}, {}, {}, {}}};
    for_each_block({0, 0, 16, 0, rows}, 0, 4, [&](const TableSlice& block, int device) {
      plan.shards[static_cast<std::size_t>(device)].push_back(device);
      plan.slices.push_back(block);
    });
    for (std::int64_t hot = 1; hot < 500; ++hot) {
      const Plan changed = with_other_hot_rows(task, plan, {{0, hot}});
      EXPECT_THAT(changed.hot_rows, ElementsAre(HotRows{0, hot}));
      std::size_t slice = 0;
      for_each_block({0, 0, 16, 0, rows - hot}, 0, 4, [&](const TableSlice& block, int) {
        EXPECT_EQ(changed.slices[slice++], block) << rows << " rows, " << hot << " hot";
      });
      EXPECT_EQ(with_other_hot_rows(task, changed, {}), plan);
    }
  }
}

TEST(OtherHotRows, LeaveOtherBlocksTheirShare) {
  const Task task = task_of_rows({1000, 1000});
  const Plan plan{
      .slices = {{0, 0, 16, 0, 100}, {0, 0, 16, 100, 900}, {1, 0, 8, 0, 1000}, {1, 8, 8, 0, 1000}},
      .shards = {{0}, {1}, {2}, {3}}};
  const Plan changed = with_other_hot_rows(task, plan, {{0, 500}, {1, 10}});
  EXPECT_THAT(changed.slices,
              ElementsAre(TableSlice{0, 0, 16, 0, 50}, TableSlice{0, 0, 16, 50, 450},
                          TableSlice{1, 0, 8, 0, 990}, TableSlice{1, 8, 8, 0, 990}));
  EXPECT_THAT(check_plan(changed, task), IsEmpty());
  // A block would be empty.
  EXPECT_EQ(with_other_hot_rows(task, plan, {{0, 995}}), plan);
}

TEST(OtherHotRows, CutReplicasByRows) {
  const Task task = task_of_rows({1000, 1000});
  const Plan plan{.slices = {}, .shards = {{}, {}, {}, {}}, .replicas = {0, 1}};
  const Plan changed = with_other_hot_rows(task, plan, {{1, 200}});
  EXPECT_THAT(changed.replicas, ElementsAre(0));
  EXPECT_THAT(changed.hot_rows, ElementsAre(HotRows{1, 200}));
  EXPECT_THAT(changed.slices,
              ElementsAre(TableSlice{1, 0, 16, 0, 200}, TableSlice{1, 0, 16, 200, 200},
                          TableSlice{1, 0, 16, 400, 200}, TableSlice{1, 0, 16, 600, 200}));
  EXPECT_THAT(check_plan(changed, task), IsEmpty());
}

}  // namespace
}  // namespace neuroshard
