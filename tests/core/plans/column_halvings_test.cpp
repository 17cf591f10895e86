#include "neuroshard/column_halvings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "neuroshard/error.h"
#include "random_tasks.h"
#include "repetitions.h"

namespace neuroshard {
namespace {

using ::testing::ElementsAre;

Task two_halvable_tables() {
  return {.tables = {{"", 100, 32, 1.0, {}}, {"", 100, 8, 1.0, {}}},
          .devices = 2,
          .memory_bytes = 1 << 20};
}

TEST(ColumnHalvings, ASplitKeepsTheIndexAndAppendsTheSecondHalf) {
  EXPECT_THAT(split_columns(two_halvable_tables(), {0, 0, 2}),
              ElementsAre(TableSlice{0, 0, 8, 0, 100}, TableSlice{1, 0, 8, 0, 100},
                          TableSlice{0, 16, 8, 0, 100}, TableSlice{0, 8, 8, 0, 100},
                          TableSlice{0, 24, 8, 0, 100}));
}

TEST(ColumnHalvings, ImpossibleSplitsAreRejected) {
  EXPECT_THROW((void)split_columns(two_halvable_tables(), {2}), Error);
  EXPECT_THROW((void)split_columns(two_halvable_tables(), {-1}), Error);
  EXPECT_THROW((void)split_columns(two_halvable_tables(), {1, 1}), Error);  // 8 -> 4, then 4 -> 2.
}

TEST(ColumnHalvings, AreFoundAgain) {
  std::mt19937_64 random(1);
  for (const std::uint64_t seed : testing::Seeds(testing::repetitions(300))) {
    const Task task = testing::random_task(seed);
    const HalvedPlan halved = testing::random_halvings(task, random);
    const Plan plan = plan_from_halvings(task, halved);
    ASSERT_NO_THROW(validate(plan, task));
    EXPECT_EQ(halvings_of(plan), halved);
  }
}

// Slices in any order: the same slices are on the same devices, by other indices.
TEST(ColumnHalvings, RenumberSlicesThatCameInAnotherOrder) {
  std::mt19937_64 random(2);
  for (const std::uint64_t seed : testing::Seeds(testing::repetitions(300))) {
    const Task task = testing::random_task(seed);
    const Plan made = plan_from_halvings(task, testing::random_halvings(task, random));
    std::vector<int> order(made.slices.size());
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    Plan shuffled = made;
    for (std::size_t i = 0; i < order.size(); ++i) {
      shuffled.slices[static_cast<std::size_t>(order[i])] = made.slices[i];
    }
    for (auto& shard : shuffled.shards) {
      for (int& slice : shard) slice = order[static_cast<std::size_t>(slice)];
    }
    const auto halved = halvings_of(shuffled);
    ASSERT_TRUE(halved);
    EXPECT_EQ(slices_by_device(plan_from_halvings(task, *halved)), slices_by_device(made));
  }
}

TEST(ColumnHalvings, AreNotWhatOtherPlansHave) {
  const TableSlice other{1, 0, 8, 0, 100};
  const auto without = [&](std::vector<TableSlice> slices) {
    slices.push_back(other);
    Plan plan{std::move(slices), {{}, {}}};
    for (std::size_t i = 0; i < plan.slices.size(); ++i) {
      plan.shards[0].push_back(static_cast<int>(i));
    }
    validate(plan, two_halvable_tables());
    return !halvings_of(plan);
  };
  EXPECT_FALSE(without({{0, 0, 32, 0, 100}}));
  EXPECT_FALSE(without({{0, 0, 16, 0, 100}, {0, 16, 16, 0, 100}}));
  EXPECT_TRUE(without({{0, 0, 12, 0, 100}, {0, 12, 20, 0, 100}}));
  EXPECT_TRUE(without({{0, 0, 8, 0, 100}, {0, 8, 16, 0, 100}, {0, 24, 8, 0, 100}}));
  EXPECT_TRUE(without({{0, 0, 32, 0, 50}, {0, 0, 32, 50, 50}}));
  EXPECT_TRUE(without({{0, 0, 16, 0, 50}, {0, 0, 16, 50, 50}, {0, 16, 16, 0, 100}}));
}

}  // namespace
}  // namespace neuroshard
