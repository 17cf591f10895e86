#include "search/planned_cuts.h"

#include <gmock/gmock.h>

#include <cstddef>

#include "neuroshard/plan_check.h"
#include "neuroshard/weights.h"

namespace neuroshard::testing {

using ::testing::IsEmpty;

Planner planner_of(Effort effort, std::optional<Cuts> cuts, int threads) {
  return Planner(builtin_weights(), {.effort = effort, .cuts = cuts, .threads = threads});
}

void make_unequal(Task& task) {
  task.device_list.assign(static_cast<std::size_t>(task.devices),
                          {.memory_bytes = task.memory_bytes});
  for (std::size_t d = 0; d < task.device_list.size(); ++d) {
    Device& device = task.device_list[d];
    if (d % 2 == 0) device = {.memory_bytes = 2 * task.memory_bytes, .speed = 1.6};
    if (d % 3 == 0) device.base_ms = 0.1;
  }
}

void expect_good(const Planner& planner, const Task& task, const PlanResult& result) {
  ASSERT_TRUE(result.plan) << (result.infeasible ? result.infeasible->message : "");
  EXPECT_FALSE(result.infeasible);
  for (const PlanProblem& problem : check_plan(*result.plan, task)) {
    ADD_FAILURE() << problem.message();
  }
  const PlanCost cost = planner.simulate(task, *result.plan);
  EXPECT_TRUE(cost.fits_memory);
  EXPECT_EQ(result.cost.cost_ms, cost.cost_ms);
  EXPECT_EQ(result.cost.warning, cost.warning);
  for (const CostedPlan& other : result.alternatives) {
    EXPECT_THAT(check_plan(other.plan, task), IsEmpty());
    EXPECT_GE(other.cost.cost_ms,
              0.998 * result.cost.cost_ms);  // Fewest slices win among about equal ones.
  }
}

PlanResult expect_no_dearer(const Planner& planner, const Planner& simpler, const Task& task) {
  const PlanResult of_simpler = simpler.plan(task);
  PlanResult result = planner.plan(task);
  if (!result.plan) {
    EXPECT_FALSE(of_simpler.plan);
    return result;
  }
  expect_good(planner, task, result);
  if (of_simpler.plan) {
    // Two searches take different courses to plans of about one price.
    EXPECT_LE(result.cost.cost_ms, (1.0 + 3e-2) * of_simpler.cost.cost_ms);
  }
  return result;
}

}  // namespace neuroshard::testing
