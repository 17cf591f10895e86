#include "search/engine/best_plans.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "neuroshard/simulator.h"
#include "neuroshard/weights.h"
#include "search/equal_tables.h"
#include "search/random_layouts.h"

namespace neuroshard {
namespace {

/// Tables that are alike, the last of which has a few rows more.
Task nearly_equal_tables() {
  Task task{.tables = testing::equal_tables(5, 1'000'000, 64, 10.0),
            .devices = 2,
            .memory_bytes = bytes_from_gib(10.0)};
  for (Table& table : task.tables) table.access_histogram = {0.0, 0.0, 1.0};
  task.tables.back().rows += 100;
  return task;
}

TEST(BestPlans, OneThatHeedsLessGivesWayToWhatModelsCanTellApart) {
  const Task task = nearly_equal_tables();
  const CpuBackend backend = testing::cpu_backend_of(builtin_weights());
  const auto placed = [&](std::vector<std::vector<int>> shards) {
    return Plan{.slices = whole_tables(task), .shards = std::move(shards)};
  };
  const auto ms = [&](const Plan& plan) { return simulate(backend, task, plan).slowest_ms(); };
  const Plan plainer = placed({{0, 1, 4}, {2, 3}});
  const Plan hardly_cheaper = placed({{0, 1, 2}, {3, 4}});
  Plan cheaper = placed({{0, 1, 4}, {2, 3, 5}});
  cheaper.slices.back().dim = 32;
  cheaper.slices.push_back(cheaper.slices.back());
  cheaper.slices.back().first_column = 32;
  ASSERT_LT(ms(hardly_cheaper), ms(plainer));
  ASSERT_GT(ms(hardly_cheaper), 0.9999 * ms(plainer));
  ASSERT_LT(ms(cheaper), 0.99 * ms(plainer));

  const PlanRequest request{.alternatives = 3};
  BestPlans found(backend, task, request);
  found.consider_plainer(plainer);
  found.consider(hardly_cheaper);
  EXPECT_EQ(found.best().plan, plainer);
  EXPECT_TRUE(found.best().alternatives.empty());  // None is cheaper than the plan.
  found.consider(cheaper);
  EXPECT_EQ(found.best().plan, cheaper);
}

TEST(BestPlans, OthersGiveWayToAnyThatIsCheaper) {
  const Task task = nearly_equal_tables();
  const CpuBackend backend = testing::cpu_backend_of(builtin_weights());
  const PlanRequest request{.alternatives = 3};
  BestPlans found(backend, task, request);
  for (const auto& shards : {std::vector<std::vector<int>>{{0, 1, 4}, {2, 3}},
                             std::vector<std::vector<int>>{{0, 1, 2}, {3, 4}}}) {
    const Plan plan{.slices = whole_tables(task), .shards = shards};
    found.consider(plan);
    EXPECT_EQ(found.best().plan, plan);
  }
  EXPECT_EQ(found.best().alternatives.size(), 1U);
}

/// How many alternatives are kept where plans of four tables in two slices each have these shards.
std::size_t alternatives_of(const Task& task,
                            const std::vector<std::vector<std::vector<int>>>& plans) {
  const CpuBackend backend = testing::cpu_backend_of(builtin_weights());
  const PlanRequest request{.alternatives = 10};
  BestPlans found(backend, task, request);
  for (const auto& shards : plans) {
    Plan plan{.slices = {}, .shards = shards};
    for (int table = 0; table < 4; ++table) {
      for (const int column : {0, 32}) plan.slices.push_back({table, column, 32, 0, 1'000'000});
    }
    found.consider(plan);
  }
  return found.best().alternatives.size();
}

TEST(BestPlans, AlternativesDifferInMoreThanNamesOfDevicesAndColumns) {
  Task task{.tables = testing::equal_tables(4, 1'000'000, 64, 10.0),
            .devices = 4,
            .memory_bytes = bytes_from_gib(10.0)};
  task.devices_per_node = 2;
  const std::vector<std::vector<int>> plan{{0, 2}, {1, 4}, {3, 6}, {5, 7}};
  const std::vector<std::vector<int>> other{{0, 2}, {1, 3}, {4, 6}, {5, 7}};
  const std::vector<std::vector<int>> with_other_columns{{1, 2}, {0, 4}, {3, 6}, {5, 7}};
  const std::vector<std::vector<int>> with_other_devices{{4, 1}, {0, 2}, {3, 6}, {5, 7}};
  const std::vector<std::vector<int>> with_other_nodes{{3, 6}, {5, 7}, {0, 2}, {1, 4}};
  const std::vector<std::vector<int>> across_nodes{{3, 6}, {1, 4}, {0, 2}, {5, 7}};
  EXPECT_EQ(alternatives_of(task, {plan, other}), 1U);
  EXPECT_EQ(alternatives_of(task, {plan, with_other_columns}), 0U);
  EXPECT_EQ(alternatives_of(task, {plan, with_other_devices, plan, with_other_nodes}), 0U);
  EXPECT_EQ(alternatives_of(task, {plan, across_nodes}), 1U);
  // Devices that differ are not each other.
  task.device_list.assign(4, {.memory_bytes = task.memory_bytes});
  for (const std::size_t fast : {1, 3}) task.device_list[fast].speed = 1.5;
  EXPECT_EQ(alternatives_of(task, {plan, with_other_devices}), 1U);
  EXPECT_EQ(alternatives_of(task, {plan, with_other_nodes}), 0U);
}

TEST(BestPlans, AlternativesArePlacedOtherwiseAndNotJustListedSo) {
  const Task task = nearly_equal_tables();
  const CpuBackend backend = testing::cpu_backend_of(builtin_weights());
  const PlanRequest request{.alternatives = 3};
  BestPlans found(backend, task, request);
  for (const auto& shards : {std::vector<std::vector<int>>{{0, 1, 2}, {3, 4}},
                             std::vector<std::vector<int>>{{2, 0, 1}, {3, 4}},
                             std::vector<std::vector<int>>{{0, 1, 2, 3}, {4}},
                             std::vector<std::vector<int>>{{3, 1, 0, 2}, {4}}}) {
    found.consider({.slices = whole_tables(task), .shards = shards});
  }
  EXPECT_EQ(found.best().alternatives.size(), 1U);
}

TEST(BestPlans, SlicesHaveTheNumbersOfPlanFiles) {
  const Task task = nearly_equal_tables();
  const CpuBackend backend = testing::cpu_backend_of(builtin_weights());
  Plan reversed{.slices = whole_tables(task), .shards = {{0, 1, 2}, {3, 4}}};
  std::ranges::reverse(reversed.slices);
  const PlanRequest request;
  BestPlans found(backend, task, request);
  found.consider(reversed);
  EXPECT_EQ(found.best().plan->slices, whole_tables(task));
  EXPECT_EQ(found.best().plan->shards, (std::vector<std::vector<int>>{{4, 3, 2}, {1, 0}}));
}

}  // namespace
}  // namespace neuroshard
