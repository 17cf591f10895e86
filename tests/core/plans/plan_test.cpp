#include "neuroshard/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "message_of.h"

namespace neuroshard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Task two_tables() {
  Task task;
  task.tables.resize(2);
  task.tables[0].rows = task.tables[1].rows = 100;
  task.tables[0].dim = 32;
  task.tables[0].pooling_factor = 3.0;
  task.tables[0].access_histogram[2] = 1.0;
  task.tables[1].dim = 8;
  task.devices = 2;
  task.memory_bytes = 1 << 20;
  return task;
}

std::string error_of(const Plan& plan) {
  return testing::message_of([&] { validate(plan, two_tables()); });
}

/// The first table in two halves.
std::vector<TableSlice> three_slices() {
  return {{0, 0, 16, 0, 100}, {1, 0, 8, 0, 100}, {0, 16, 16, 0, 100}};
}

TEST(Plan, WholeTablesAreASliceEach) {
  EXPECT_THAT(whole_tables(two_tables()),
              ElementsAre(TableSlice{0, 0, 32, 0, 100}, TableSlice{1, 0, 8, 0, 100}));
}

TEST(Plan, SlicesOfADeviceComeInTheOrderOfItsShard) {
  const std::vector<TableSlice> slices = three_slices();
  EXPECT_THAT(slices_by_device({slices, {{2, 1}, {0}}}),
              ElementsAre(ElementsAre(slices[2], slices[1]), ElementsAre(slices[0])));
  EXPECT_THAT(slices_by_device({slices, {{}, {1, 0, 2}}}),
              ElementsAre(ElementsAre(), ElementsAre(slices[1], slices[0], slices[2])));
}

TEST(Plan, ColumnsHaveAllLookupsAndARowBlockItsShare) {
  const Task task = two_tables();
  const Table columns = table_of(task, {0, 8, 12, 0, 100});
  EXPECT_EQ(columns.dim, 12);
  EXPECT_EQ(columns.rows, 100);
  EXPECT_EQ(columns.pooling_factor, 3.0);
  EXPECT_EQ(columns.access_histogram, task.tables[0].access_histogram);
  const Table block = table_of(task, {0, 0, 32, 75, 25});
  EXPECT_EQ(block.dim, 32);
  EXPECT_EQ(block.rows, 25);
  EXPECT_EQ(block.pooling_factor, 0.75);
  EXPECT_EQ(block.access_histogram, task.tables[0].access_histogram);
  EXPECT_EQ(slice_bytes(task, {0, 0, 32, 75, 25}), 25 * 32 * 4);
  EXPECT_EQ(slice_bytes(task, {0, 0, 32, 0, 100}), task.tables[0].size_bytes());
}

TEST(Plan, KnowsItsRowBlocks) {
  const Task task = two_tables();
  EXPECT_FALSE(has_row_blocks(task, {three_slices(), {}}));
  EXPECT_TRUE(has_row_blocks(task, {{{0, 0, 32, 0, 99}}, {}}));
}

TEST(Plan, CanSplitOnlyIntoMultiplesOfFour) {
  EXPECT_TRUE(can_split_columns(8));
  EXPECT_TRUE(can_split_columns(24));
  EXPECT_FALSE(can_split_columns(4));
  EXPECT_FALSE(can_split_columns(12));
  EXPECT_FALSE(can_split_columns(0));
}

TEST(Plan, EverySliceIsPlacedOnce) {
  EXPECT_NO_THROW(validate({three_slices(), {{0, 1}, {2}}}, two_tables()));
  EXPECT_NO_THROW(validate({three_slices(), {{0, 1, 2}, {}}}, two_tables()));
  EXPECT_THAT(error_of({three_slices(), {{0, 1}, {}}}), HasSubstr("slice 2 is on no device"));
  EXPECT_THAT(error_of({three_slices(), {{0, 1}, {1, 2}}}), HasSubstr("already in shard 0"));
  EXPECT_THAT(error_of({whole_tables(two_tables()), {{0, 1}, {2}}}), HasSubstr("no slice 2"));
  EXPECT_THAT(error_of({whole_tables(two_tables()), {{0, 1}}}),
              HasSubstr("is a plan of 1 device for a task of 2"));
}

TEST(Plan, AnyWidthsAndRowBlocksThatCoverTheTablesAreValid) {
  EXPECT_NO_THROW(validate({{{0, 0, 12, 0, 100},
                             {0, 12, 20, 0, 1},
                             {0, 12, 4, 1, 99},
                             {0, 16, 16, 1, 99},
                             {1, 0, 8, 0, 100}},
                            {{0, 4}, {1, 2, 3}}},
                           two_tables()));
}

}  // namespace
}  // namespace neuroshard
