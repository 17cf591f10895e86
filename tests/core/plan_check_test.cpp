#include "neuroshard/plan_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace neuroshard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// 12,800 and 3,200 bytes.
Task two_tables() {
  Task task;
  task.tables = {{"a", 100, 32, 1.0, {}}, {"b", 100, 8, 1.0, {}}};
  task.devices = 2;
  task.memory_bytes = 13000;
  return task;
}

std::vector<std::string> problems_of(const Plan& plan) {
  std::vector<std::string> lines;
  for (const PlanProblem& problem : check_plan(plan, two_tables())) {
    lines.push_back(std::string(name_of(problem.kind)) + ": " + problem.message());
  }
  return lines;
}

TEST(PlanCheck, FindsNothingWrongWithAGoodPlan) {
  EXPECT_THAT(problems_of({{}, {{0}, {1}}}), IsEmpty());
  EXPECT_THAT(problems_of({{0, 1}, {{3, 0}, {1, 2}}}), IsEmpty());
}

TEST(PlanCheck, ListsEverythingAtOnce) {
  EXPECT_THAT(
      problems_of({{1, 1, 7}, {{0, 1, 1}, {0, 9}, {-1}}}),
      ElementsAre("split: column split 1: slice 1 has dim 4, whose half is not a multiple of 4; "
                  "leave this step out",
                  "split: column split 2: there is no slice 7; there are 4",
                  "devices: has 3 shards for 2 devices; give one list per device",
                  "slice: shard 0: slice 1 is already in shard 0; place each slice once",
                  "slice: shard 1: slice 0 is already in shard 0; place each slice once",
                  "slice: shard 1: there is no slice 9; there are 5 after the column splits",
                  "slice: shard 2: there is no slice -1; there are 5 after the column splits",
                  "slice: slice 2 is on no device; place each slice once",
                  "memory: shard 0 takes 14400 bytes, but a device has 13000; move slices to other "
                  "devices, or give more memory"));
}

TEST(PlanCheck, OneBadSplitBringsForthNoOtherProblems) {
  // Step 1 cannot halve the 4 columns; its second half is split on and placed all the same.
  const auto problems = check_plan({{1, 1, 3}, {{0}, {1, 2, 3, 4}}}, two_tables());
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0].kind, PlanProblem::Kind::kSplit);
  EXPECT_EQ(problems[0].table, 1);
  EXPECT_EQ(problems[0].slice, 1);
}

TEST(PlanCheck, SaysWhichDeviceAndTable) {
  const auto twice = check_plan({{}, {{0}, {0, 1}}}, two_tables());
  ASSERT_EQ(twice.size(), 1U);
  EXPECT_EQ(twice[0].device, 1);
  EXPECT_EQ(twice[0].table, 0);
  const auto full = check_plan({{}, {{}, {0, 1}}}, two_tables());
  ASSERT_EQ(full.size(), 1U);
  EXPECT_EQ(full[0].kind, PlanProblem::Kind::kMemory);
  EXPECT_EQ(full[0].device, 1);
  EXPECT_THAT(full[0].what, HasSubstr("16000 bytes"));
}

TEST(PlanCheck, ValidityIsAllButMemory) {
  EXPECT_NO_THROW(validate({{}, {{}, {0, 1}}}, two_tables()));
}

}  // namespace
}  // namespace neuroshard
