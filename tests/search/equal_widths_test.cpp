// PlannerOptions::equal_widths: every table in slices of one width, whatever finds the plan.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "message_of.h"
#include "neuroshard/plan_check.h"
#include "neuroshard/planner.h"
#include "neuroshard/simulator.h"
#include "neuroshard/weights.h"
#include "random_tasks.h"
#include "repetitions.h"

namespace neuroshard {
namespace {

using testing::drawn_tasks;
using testing::message_of;
using testing::random_models;
using testing::random_task;

PlannerOptions with_equal_widths(Effort effort = Effort::kDefault) {
  return {.effort = effort, .equal_widths = true, .threads = 1};
}

bool has_equal_widths(const Task& task, const Plan& plan) {
  std::vector<std::set<int>> widths(task.tables.size());
  for (const TableSlice& slice : plan.slices) {
    widths[static_cast<std::size_t>(slice.table)].insert(slice.dim);
  }
  // Replicated tables have none.
  return std::ranges::all_of(widths, [](const auto& of_table) { return of_table.size() <= 1; });
}

TEST(EqualWidths, HoldInEveryPlanAndItsAlternatives) {
  int free_plans = 0;
  for (const CostModels& models : {builtin_weights(), random_models(31)}) {
    for (const Effort effort : {Effort::kFast, Effort::kDefault}) {
      const Planner equal(models, with_equal_widths(effort));
      const Planner any(models, {.effort = effort, .threads = 1});
      for (const std::uint64_t seed : testing::Seeds(drawn_tasks(15))) {
        const Task task = random_task(seed);
        const PlanResult result = equal.plan(task, {.alternatives = 3});
        const PlanResult other = any.plan(task);
        ASSERT_EQ(result.plan.has_value(), other.plan.has_value());
        if (!result.plan) continue;
        EXPECT_TRUE(has_equal_widths(task, *result.plan));
        EXPECT_TRUE(result.cost.fits_memory);
        EXPECT_EQ(result.cost.cost_ms, equal.simulate(task, *result.plan).cost_ms);
        for (const CostedPlan& alternative : result.alternatives) {
          EXPECT_TRUE(has_equal_widths(task, alternative.plan));
        }
        free_plans += has_equal_widths(task, *other.plan) ? 0 : 1;
      }
    }
  }
  // Without being asked for they do not come about; sanitizers draw too few tasks to see that.
  if (!testing::kFewTasks) {
    EXPECT_GT(free_plans, 0);
  }
}

TEST(EqualWidths, HoldWhereADeadlineEndsTheSearch) {
  const Planner planner(builtin_weights(), with_equal_widths());
  const Task task = random_task(4);
  for (int passed_us = 0; passed_us < 3000; passed_us += 100) {
    PlanRequest request;
    request.deadline = std::chrono::steady_clock::now() + std::chrono::microseconds(passed_us);
    const PlanResult result = planner.plan(task, request);
    if (!result.plan) continue;
    EXPECT_TRUE(has_equal_widths(task, *result.plan));
  }
}

TEST(EqualWidths, AreRefusedWhereTheAlgorithmCutsOtherwise) {
  EXPECT_THAT(message_of([] {
                const Planner planner(builtin_weights(),
                                      {.algorithm = Algorithm::kPublished, .equal_widths = true});
              }),
              ::testing::HasSubstr("algorithm 'neuroshard'"));
}

// Whether what runs has them or not.
TEST(EqualWidths, HoldInPlansNearToRunningOnes) {
  const Planner equal(builtin_weights(), with_equal_widths(Effort::kFast));
  const Planner any(builtin_weights(), {.threads = 1});
  int planned = 0;
  int unequal = 0;
  for (const std::uint64_t seed : testing::Seeds(drawn_tasks(40))) {
    Task task = random_task(seed);
    for (std::size_t t = 0; t < task.tables.size(); ++t) {
      task.tables[t].name = "table " + std::to_string(t);
    }
    const PlanResult plan = (seed % 2 == 0 ? equal : any).plan(task);
    if (!plan.plan) continue;
    RunningPlan running{.task = task, .plan = *plan.plan};
    unequal += has_equal_widths(task, running.plan) ? 0 : 1;
    task.tables[seed % task.tables.size()].rows *= 2;
    if (seed % 3 == 0 && task.devices > 2 && has_equal_devices(task)) {
      running.lost_devices = {1};
      --task.devices;
    }
    const ReplanResult near = equal.replan(task, running);
    if (!near.result.plan) continue;
    ++planned;
    EXPECT_TRUE(has_equal_widths(task, *near.result.plan));
    EXPECT_TRUE(check_plan(*near.result.plan, task).empty());
    EXPECT_EQ(near.result.cost.cost_ms, equal.simulate(task, *near.result.plan).cost_ms);
    if (seed % 2 != 0) continue;
    EXPECT_EQ(equal.replan(running.task, {running.task, running.plan}).moved_bytes, 0);
  }
  EXPECT_GT(planned, testing::kFewTasks ? 0 : 20);
  EXPECT_GT(unequal, testing::kFewTasks ? -1 : 2);
}

}  // namespace
}  // namespace neuroshard
