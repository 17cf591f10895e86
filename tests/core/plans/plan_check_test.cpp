#include "neuroshard/plan_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace neuroshard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// 12,800 and 3,200 bytes.
Task two_checked_tables() {
  return {.tables = {{"a", 100, 32, 1.0, {}}, {"b", 100, 8, 1.0, {}}},
          .devices = 2,
          .memory_bytes = 13000};
}

template <typename AnyPlan>
std::vector<std::string> problems_of(const AnyPlan& plan) {
  std::vector<std::string> lines;
  for (const PlanProblem& problem : check_plan(plan, two_checked_tables())) {
    lines.push_back(std::string(name_of(problem.kind)) + ": " + problem.message());
  }
  return lines;
}

TEST(PlanCheck, FindsNothingWrongWithAGoodPlan) {
  EXPECT_THAT(problems_of(HalvedPlan{{}, {{0}, {1}}}), IsEmpty());
  EXPECT_THAT(problems_of(HalvedPlan{{0, 1}, {{3, 0}, {1, 2}}}), IsEmpty());
}

TEST(PlanCheck, ListsEverythingAtOnce) {
  EXPECT_THAT(
      problems_of(HalvedPlan{{1, 1, 7}, {{0, 1, 1}, {0, 9}, {-1}}}),
      ElementsAre(
          "split: column split 1: slice 1 has dim 4, whose half is not a multiple of 4; "
          "leave this step out",
          "split: column split 2: there is no slice 7; there are 4",
          "devices: is a plan of 3 devices for a task of 2; give the task that it was made for, "
          "or plan anew",
          "slice: shard 0: slice 1 is already in shard 0; place each slice once",
          "slice: shard 1: slice 0 is already in shard 0; place each slice once",
          "slice: shard 1: there is no slice 9; there are 5",
          "slice: shard 2: there is no slice -1; there are 5",
          "slice: slice 2 is on no device; place each slice once",
          "memory: device 0 needs 14.1 KiB, 1.37 KiB more than it has room for; move slices to "
          "other devices, or give more memory"));
}

TEST(PlanCheck, OneBadSplitBringsForthNoOtherProblems) {
  // Step 1 cannot halve the 4 columns; its second half is split on and placed all the same.
  const auto problems =
      check_plan(HalvedPlan{{1, 1, 3}, {{0}, {1, 2, 3, 4}}}, two_checked_tables());
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0].kind, PlanProblem::Kind::kSplit);
  EXPECT_EQ(problems[0].table, 1);
  EXPECT_EQ(problems[0].slice, 1);
}

TEST(PlanCheck, SaysWhichDeviceAndTable) {
  const auto twice = check_plan(HalvedPlan{{}, {{0}, {0, 1}}}, two_checked_tables());
  ASSERT_EQ(twice.size(), 1U);
  EXPECT_EQ(twice[0].device, 1);
  EXPECT_EQ(twice[0].table, 0);
  const auto full = check_plan(HalvedPlan{{}, {{}, {0, 1}}}, two_checked_tables());
  ASSERT_EQ(full.size(), 1U);
  EXPECT_EQ(full[0].kind, PlanProblem::Kind::kMemory);
  EXPECT_EQ(full[0].device, 1);
  EXPECT_THAT(full[0].what, HasSubstr("device 1 needs 15.6 KiB, 2.93 KiB more"));
}

TEST(PlanCheck, ValidityIsAllButMemory) {
  EXPECT_NO_THROW(
      validate({whole_tables(two_checked_tables()), {{}, {0, 1}}}, two_checked_tables()));
}

TEST(PlanCheck, ListsWhatIsWrongWithSlicesAndShardsAtOnce) {
  const Plan plan{{{0, 0, 20, 0, 100}, {0, 16, 16, 0, 60}, {2, 0, 8, 0, 100}, {1, 0, 6, 0, 100}},
                  {{0, 1}, {2, 3, 3, 4}}};
  EXPECT_THAT(
      problems_of(plan),
      ElementsAre(
          "slice: slice 2 is of table 2; the task has tables 0 to 1",
          "slice: slice 3 has 6 columns; give a multiple of 4, 4 or more",
          "slice: slice 1 (columns 16 to 31 of rows 0 to 59 of table 0) overlaps slice 0 "
          "(columns 0 to 19 of table 0); place each row and column once",
          "slice: columns 20 to 31 of rows 60 to 99 of table 0 are in no slice; place each "
          "row and column once",
          "slice: columns 6 to 7 of table 1 are in no slice; place each row and column once",
          "slice: shard 1: slice 3 is already in shard 1; place each slice once",
          "slice: shard 1: there is no slice 4; there are 4"));
}

TEST(PlanCheck, CountsTheBytesOfRowBlocks) {
  const Plan plan{{{0, 0, 32, 0, 99}, {0, 0, 32, 99, 1}, {1, 0, 8, 0, 100}}, {{0, 1}, {2}}};
  EXPECT_THAT(problems_of(plan), IsEmpty());
  Plan full = plan;
  full.shards = {{0, 2}, {1}};
  EXPECT_THAT(
      problems_of(full),
      ElementsAre("memory: device 0 needs 15.5 KiB, 2.80 KiB more than it has room for; move "
                  "slices to other devices, or give more memory"));
}

}  // namespace
}  // namespace neuroshard
