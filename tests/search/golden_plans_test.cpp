// The published search's plans, against ours.
#include <gtest/gtest.h>

#include "golden.h"
#include "neuroshard/planner.h"

namespace neuroshard {
namespace {

using testing::golden_models;
using testing::golden_plans;
using testing::golden_task;
using testing::GoldenPlan;

class GoldenPlans : public ::testing::TestWithParam<std::string> {};

TEST_P(GoldenPlans, NeverWorseAndMostlyTheSameSteps) {
  const Planner planner(golden_models());
  int with_plan = 0;
  int same_steps = 0;
  for (const GoldenPlan& golden : golden_plans(GetParam())) {
    SCOPED_TRACE(GetParam() + " task " + std::to_string(golden.task));
    const Task task = golden_task(GetParam(), golden.task);
    const PlanResult ours = planner.plan(task);
    ASSERT_TRUE(ours.plan.has_value()) << ours.infeasible->message;
    EXPECT_TRUE(ours.cost.fits_memory);
    const PlanCost recomputed = planner.simulate(task, *ours.plan);
    EXPECT_EQ(recomputed.cost_ms, ours.cost.cost_ms);
    if (!golden.plan) continue;
    ++with_plan;
    // The published plan costs the same in our simulator as in theirs.
    const double theirs_ms = planner.simulate(task, *golden.plan).cost_ms;
    EXPECT_NEAR(theirs_ms, golden.cost_ms, 1e-5 * golden.cost_ms);
    EXPECT_LE(recomputed.cost_ms, golden.cost_ms * (1.0 + 1e-5));
    if (ours.plan->column_splits == golden.plan->column_splits) {
      ++same_steps;
    } else {
      std::string a, b;
      for (int s : ours.plan->column_splits) a += std::to_string(s) + " ";
      for (int s : golden.plan->column_splits) b += std::to_string(s) + " ";
      std::printf("%s %d: ours %s(%.9g) theirs %s(%.9g)\n", GetParam().c_str(), golden.task, a.c_str(), recomputed.cost_ms, b.c_str(), golden.cost_ms);
    }
  }
  EXPECT_GE(same_steps, with_plan * 9 / 10) << "of " << with_plan;
  RecordProperty("same_steps", same_steps);
  RecordProperty("with_plan", with_plan);
}

INSTANTIATE_TEST_SUITE_P(EverySet, GoldenPlans, ::testing::ValuesIn(testing::golden_sets()),
                         [](const auto& info) { return "set_" + info.param; });

}  // namespace
}  // namespace neuroshard
