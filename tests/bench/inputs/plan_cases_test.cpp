#include "bench/inputs/plan_cases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <string>

#include "golden.h"
#include "neuroshard/error.h"

namespace neuroshard::bench {
namespace {

const std::string kTableSets = std::string(NEUROSHARD_TEST_DATA) + "/../../bench/data/table_sets";

TEST(PlanCases, TableSetsAreReadForEveryDeviceCountThatHoldsThem) {
  const auto all = table_set_cases({.folder = kTableSets, .devices = {8, 1024}});
  const auto on = [&](int devices) {
    return std::ranges::count_if(all, [&](const auto& c) { return c.task.devices == devices; });
  };
  EXPECT_EQ(on(1024), 26);
  EXPECT_LT(on(8), 26);
  EXPECT_GT(on(8), 15);
  const auto one = table_set_cases(
      {.folder = kTableSets, .names = {"kdd12_nasrec"}, .devices = {64}, .memory_gib = 2.5});
  ASSERT_EQ(one.size(), 1U);
  EXPECT_EQ(one[0].name, "kdd12_nasrec");
  EXPECT_EQ(one[0].task.tables.size(), 10U);
  EXPECT_EQ(one[0].task.devices, 64);
  EXPECT_EQ(one[0].task.memory_bytes, bytes_from_gib(2.5));
  EXPECT_THROW((void)table_set_cases({.folder = "no-such-folder", .devices = {8}}), Error);
  EXPECT_THROW(
      (void)table_set_cases({.folder = kTableSets, .names = {"elsewhere"}, .devices = {8}}), Error);
}

TEST(PlanCases, WideTasksAreTheSameWhateverTheirNumber) {
  const auto few = wide_cases(4, {64}, 40.0, 1);
  const auto many = wide_cases(12, {64}, 40.0, 1);
  ASSERT_GE(few.size(), 1U);
  ASSERT_GE(many.size(), few.size());
  for (std::size_t i = 0; i < few.size(); ++i) {
    EXPECT_NO_THROW(validate(few[i].task));
    EXPECT_EQ(few[i].name, many[i].name);
    EXPECT_EQ(few[i].task.tables.size(), many[i].task.tables.size());
    EXPECT_EQ(few[i].task.tables.back().rows, many[i].task.tables.back().rows);
    EXPECT_EQ(few[i].task.tables.back().dim, many[i].task.tables.back().dim);
  }
}

TEST(PlanCases, GoldenTasksAreNamedAfterTheirSet) {
  const GoldenFolder folder(std::string(NEUROSHARD_TEST_DATA) + "/golden");
  const auto cases = golden_cases(folder, {"2gpu_dim32", "4gpu_dim128"}, 3);
  ASSERT_EQ(cases.size(), 6U);
  EXPECT_EQ(cases[4].name, "4gpu_dim128 task 1");
  EXPECT_EQ(cases[4].task.devices, 4);
  EXPECT_EQ(golden_cases(folder, {}, 1).size(), 12U);
}

}  // namespace
}  // namespace neuroshard::bench
