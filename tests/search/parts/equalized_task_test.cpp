// Plans for devices that differ beside those of the same task for equal devices.
#include "search/parts/equalized_task.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/base/random.h"
#include "neuroshard/plan_check.h"
#include "neuroshard/planner.h"
#include "neuroshard/simulator.h"
#include "random_tasks.h"
#include "repetitions.h"
#include "search/parts/planned_cuts.h"
#include "search/random_rules.h"

namespace neuroshard {
namespace {

using testing::planner_of;
using testing::random_task;
using testing::repetitions;

/// A task of some tables, small ones among them, on devices that differ in one or all of memory,
/// base load and speed; with rules and groups or without.
Task random_unequal_task(std::uint64_t seed) {
  Task task = testing::random_task_of_all_kinds(seed);
  Random random(seed, 67);
  task.devices = 2 + static_cast<int>(random.below(15));
  if (random.below(3) == 0) testing::add_random_rules_to_tables(task, random);
  if (random.below(3) == 0) testing::add_random_kinds(task, random);
  testing::add_random_devices(task, random);
  const std::size_t only = random.below(4);
  for (Device& device : task.device_list) {
    if (only == 1) device = {.memory_bytes = device.memory_bytes};
    if (only == 2) device = {.memory_bytes = task.memory_bytes, .base_ms = device.base_ms};
    if (only == 3) device = {.memory_bytes = task.memory_bytes, .speed = device.speed};
  }
  if (random.below(3) == 0) testing::add_random_groups(task, 2, random);
  return task;
}

TEST(EqualizedTask, HasDevicesLikeTheLeast) {
  Task task = random_task(3);
  task.devices = 3;
  task.reserved = {.bytes = 10, .share = 0.0};
  EXPECT_FALSE(equalized_task(task));
  task.device_list = {{.memory_bytes = 1000, .base_ms = 2.0, .speed = 2.0},
                      {.memory_bytes = 900, .base_bytes = 100},
                      {.memory_bytes = 800, .speed = 3.0}};
  const std::optional<Task> equal = equalized_task(task);
  ASSERT_TRUE(equal);
  EXPECT_TRUE(has_equal_devices(*equal));
  EXPECT_EQ(rooms_bytes(*equal), std::vector<std::int64_t>(3, 790));
  EXPECT_EQ(equal->tables.size(), task.tables.size());

  task.device_list[1].speed = 1.5;
  const std::optional<Task> slow = equalized_task(task);
  ASSERT_TRUE(slow);
  for (const Device& device : slow->device_list) {
    EXPECT_EQ(device, (Device{.memory_bytes = 790, .speed = 1.5}));
  }
  task.device_list.assign(3, {.memory_bytes = 1000, .base_ms = 1.0, .speed = 2.0});
  EXPECT_FALSE(equalized_task(task));
  task.device_list[2] = {.memory_bytes = 100, .base_bytes = 90};
  EXPECT_FALSE(equalized_task(task)) << "a device has no room";
}

TEST(EqualizedTask, HasNoPlanThatIsCheaper) {
  const Planner fast = planner_of(Effort::kFast);
  const Planner longer = planner_of(Effort::kDefault);
  const Planner by_columns = planner_of(Effort::kFast, Cuts::kColumns);
  std::vector<Task> tasks;
  std::vector<PlanResult> results;
  int compared = 0;
  int cheaper = 0;
  int replicated = 0;
  int by_rows = 0;
  for (std::uint64_t seed = 0; seed < repetitions(150); ++seed) {
    SCOPED_TRACE(seed);
    const Task& task = tasks.emplace_back(random_unequal_task(seed));
    const auto expect_not_dearer = [&](const Planner& planner, const Planner& of_equal) {
      const PlanResult result = planner.plan(task);
      const std::optional<Task> equal = equalized_task(task);
      if (result.plan) {
        EXPECT_TRUE(check_plan(*result.plan, task).empty());
        EXPECT_EQ(result.cost.cost_ms, planner.simulate(task, *result.plan).cost_ms);
      }
      if (!equal) return result;
      const PlanResult blind = of_equal.plan(*equal);
      if (!blind.plan) return result;
      EXPECT_TRUE(result.plan) << result.infeasible->message;
      if (!result.plan) return result;
      const double blind_ms = planner.simulate(task, *blind.plan).cost_ms;
      EXPECT_LE(result.cost.cost_ms, blind_ms);
      ++compared;
      cheaper += result.cost.cost_ms < 0.98 * blind_ms ? 1 : 0;
      return result;
    };
    const PlanResult result = expect_not_dearer(fast, fast);
    results.push_back(result);
    (void)expect_not_dearer(by_columns, by_columns);
    if (seed % 8 == 0) (void)expect_not_dearer(longer, fast);
    if (!result.plan) continue;
    replicated += result.plan->replicas.empty() ? 0 : 1;
    by_rows += has_row_blocks(task, *result.plan) ? 1 : 0;
  }
  EXPECT_GT(compared, 0);
  EXPECT_GT(cheaper, 0);
  EXPECT_GT(replicated, 0);
  EXPECT_TRUE(by_rows > 0 || NEUROSHARD_SANITIZED);  // Too few tasks.
  const std::vector<PlanOutcome> outcomes = fast.plan_batch(tasks);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    SCOPED_TRACE(i);
    ASSERT_TRUE(outcomes[i]);
    EXPECT_EQ(outcomes[i]->plan, results[i].plan);
  }
}

}  // namespace
}  // namespace neuroshard
