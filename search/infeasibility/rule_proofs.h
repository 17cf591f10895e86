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

/// Why the groups of `task` that keep tables apart leave it no plan: some tables, each kept from
/// each of the others by some group, may go to fewer devices than they are. Nothing if no such
/// tables are found within the budget; which are the most that are kept from each other is not
/// searched for to the end (it is the problem of the largest clique).
[[nodiscard]] std::optional<Infeasibility> proof_by_apart_tables(const Task& task,
                                                                 StepBudget& budget);

}  // namespace neuroshard
