#pragma once

#include <optional>

#include "neuroshard/planner.h"

namespace neuroshard::testing {

/// With the built-in weights.
[[nodiscard]] Planner planner_of(Effort effort = Effort::kFast, std::optional<Cuts> cuts = {},
                                 int threads = 1);

/// Gives every other device more memory and speed, and every third a base load.
void make_unequal(Task& task);

/// Expects a plan that keeps all that the task says, at the cost that simulate() has, and such
/// alternatives.
void expect_good(const Planner& planner, const Task& task, const PlanResult& result);

/// Expects a good plan that is no dearer than that of `simpler`, or none of both.
PlanResult expect_no_dearer(const Planner& planner, const Planner& simpler, const Task& task);

}  // namespace neuroshard::testing
