#pragma once

#include <optional>

#include "core/base/step_budget.h"
#include "neuroshard/plan_result.h"
#include "neuroshard/task.h"

namespace neuroshard {

/// Why the rules and groups of `task` leave it no plan: tables that are kept together have no room
/// on one device, tables that are kept apart find too few devices, or all that may only go to some
/// devices have no room there. Nothing if none of it holds, or is found within the budget.
[[nodiscard]] std::optional<Infeasibility> proof_by_rules(const Task& task, StepBudget& budget);

}  // namespace neuroshard
