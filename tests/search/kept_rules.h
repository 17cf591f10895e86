#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "neuroshard/plan_check.h"
#include "neuroshard/plan_result.h"
#include "neuroshard/task.h"
#include "repetitions.h"
#include "search/quick_planners.h"

namespace neuroshard::testing {

/// Expects a plan that keeps all of the task's rules and fits, or a reason why there is none.
inline void expect_keeps_rules(const Task& task, const PlanResult& result) {
  ASSERT_NE(result.plan.has_value(), result.infeasible.has_value());
  if (!result.plan) return;
  for (const PlanProblem& problem : check_plan(*result.plan, task)) {
    ADD_FAILURE() << problem.message();
  }
  EXPECT_TRUE(result.cost.fits_memory);
}

/// Draws tasks. Every algorithm's plan must keep their rules and cost what it says. Both searches
/// must find one exactly where `is_feasible` says that there is one. `also` checks more. A tenth to
/// nine tenths of the tasks must be infeasible.
inline void expect_every_algorithm_keeps_rules(
    const CostModels& models, const std::function<Task(std::uint64_t seed)>& draw,
    const std::function<bool(const Task&)>& is_feasible,
    const std::function<void(const Task&, bool feasible)>& also = [](const Task&, bool) {}) {
  const std::vector<Planner> planners = quick_planners(models);
  int infeasible = 0;
  const std::uint64_t tasks = drawn_tasks(400);
  for (const std::uint64_t seed : Seeds(tasks)) {
    const Task task = draw(seed);
    const bool feasible = is_feasible(task);
    infeasible += feasible ? 0 : 1;
    for (std::size_t i = 0; i < planners.size(); ++i) {
      const Algorithm algorithm = all_algorithms()[i];
      SCOPED_TRACE(name_of(algorithm));
      const PlanResult result = planners[i].plan(task);
      expect_keeps_rules(task, result);
      if (result.plan) {
        EXPECT_EQ(planners[i].simulate(task, *result.plan).cost_ms, result.cost.cost_ms);
      }
      if (algorithm == Algorithm::kNeuroshard || algorithm == Algorithm::kPublished) {
        ASSERT_EQ(result.plan.has_value(), feasible)
            << (result.infeasible ? result.infeasible->message : "");
      }
    }
    also(task, feasible);
  }
  EXPECT_GT(infeasible, static_cast<int>(tasks / 10));
  EXPECT_LT(infeasible, static_cast<int>(tasks * 9 / 10));
}

}  // namespace neuroshard::testing
