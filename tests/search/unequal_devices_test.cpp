// Plans for devices that differ beside those of the same task for equal devices.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "core/base/random.h"
#include "neuroshard/plan_check.h"
#include "neuroshard/planner.h"
#include "neuroshard/simulator.h"
#include "random_tasks.h"
#include "repetitions.h"
#include "search/planned_cuts.h"
#include "search/random_rules.h"

namespace neuroshard {
namespace {

using testing::drawn_tasks;
using testing::planner_of;

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

/// The task on devices all as slow, small and without base load as the least of them; nothing if
/// they differ in nothing, or one has no room.
std::optional<Task> blind_task(const Task& task) {
  if (has_equal_devices(task)) return std::nullopt;
  const std::int64_t room = std::ranges::min(rooms_bytes(task));
  if (room <= 0) return std::nullopt;
  Task blind = task;
  blind.reserved = {};
  blind.memory_bytes = room;
  const double speed = std::ranges::min(task.device_list, {}, &Device::speed).speed;
  blind.device_list.assign(task.device_list.size(), {.memory_bytes = room, .speed = speed});
  return blind;
}

// A search that looks at all devices may end elsewhere than one of a simpler task.
constexpr double kElsewhere = 1.01;

TEST(UnequalDevices, CostNoMoreThanAllAsTheLeast) {
  const Planner fast = planner_of(Effort::kFast);
  const Planner longer = planner_of(Effort::kDefault);
  const Planner by_columns = planner_of(Effort::kFast, Cuts::kColumns);
  std::vector<Task> tasks;
  std::vector<PlanResult> results;
  int compared = 0;
  int cheaper = 0;
  int replicated = 0;
  int by_rows = 0;
  for (const std::uint64_t seed : testing::Seeds(drawn_tasks(40))) {
    const Task& task = tasks.emplace_back(random_unequal_task(seed));
    const auto expect_not_dearer = [&](const Planner& planner, const Planner& of_equal) {
      const PlanResult result = planner.plan(task);
      const std::optional<Task> equal = blind_task(task);
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
      EXPECT_LE(result.cost.cost_ms, kElsewhere * blind_ms);
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
  EXPECT_TRUE(by_rows > 0 || testing::kFewTasks);  // Too few tasks.
  const std::vector<PlanOutcome> outcomes = fast.plan_batch(tasks);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    SCOPED_TRACE(i);
    ASSERT_TRUE(outcomes[i]);
    EXPECT_EQ(outcomes[i]->plan, results[i].plan);
  }
}

}  // namespace
}  // namespace neuroshard
