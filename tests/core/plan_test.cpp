#include "neuroshard/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "neuroshard/error.h"

namespace neuroshard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Task two_tables() {
  Task task;
  task.tables.resize(2);
  task.tables[0].rows = task.tables[1].rows = 100;
  task.tables[0].dim = 32;
  task.tables[1].dim = 8;
  task.devices = 2;
  task.memory_bytes = 1 << 20;
  return task;
}

std::string error_of(const Plan& plan) {
  try {
    validate(plan, two_tables());
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Plan, SplitKeepsTheIndexAndAppendsTheSecondHalf) {
  const auto slices = split_columns(two_tables(), {0, 0, 2});
  EXPECT_THAT(slices, ElementsAre(TableSlice{0, 0, 8}, TableSlice{1, 0, 8}, TableSlice{0, 16, 8},
                                  TableSlice{0, 8, 8}, TableSlice{0, 24, 8}));
}

TEST(Plan, SlicesOfADeviceComeInTheOrderOfItsShard) {
  EXPECT_THAT(slices_by_device(two_tables(), {{0}, {{2, 1}, {0}}}),
              ElementsAre(ElementsAre(TableSlice{0, 16, 16}, TableSlice{1, 0, 8}),
                          ElementsAre(TableSlice{0, 0, 16})));
  EXPECT_THAT(slices_by_device(two_tables(), {{}, {{}, {1, 0}}}),
              ElementsAre(ElementsAre(), ElementsAre(TableSlice{1, 0, 8}, TableSlice{0, 0, 32})));
}

TEST(Plan, ImpossibleSplitsAreRejected) {
  EXPECT_THROW((void)split_columns(two_tables(), {2}), Error);
  EXPECT_THROW((void)split_columns(two_tables(), {-1}), Error);
  EXPECT_THROW((void)split_columns(two_tables(), {1, 1}), Error);  // 8 -> 4, then 4 -> 2.
}

TEST(Plan, CanSplitOnlyIntoMultiplesOfFour) {
  EXPECT_TRUE(can_split_columns(8));
  EXPECT_TRUE(can_split_columns(24));
  EXPECT_FALSE(can_split_columns(4));
  EXPECT_FALSE(can_split_columns(12));
  EXPECT_FALSE(can_split_columns(0));
}

TEST(Plan, EverySliceIsPlacedOnce) {
  EXPECT_EQ(error_of({{0}, {{0, 1}, {2}}}), "");
  EXPECT_EQ(error_of({{0}, {{0, 1, 2}, {}}}), "");
  EXPECT_THAT(error_of({{0}, {{0, 1}, {}}}), HasSubstr("slice 2 is on no device"));
  EXPECT_THAT(error_of({{0}, {{0, 1}, {1, 2}}}), HasSubstr("already in shard 0"));
  EXPECT_THAT(error_of({{}, {{0, 1}, {2}}}), HasSubstr("no slice 2"));
  EXPECT_THAT(error_of({{}, {{0, 1}}}), HasSubstr("1 shard for 2 devices"));
}

}  // namespace
}  // namespace neuroshard
