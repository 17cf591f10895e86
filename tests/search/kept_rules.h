#pragma once

#include <gtest/gtest.h>

#include "neuroshard/plan_check.h"
#include "neuroshard/plan_result.h"
#include "neuroshard/task.h"

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

}  // namespace neuroshard::testing
