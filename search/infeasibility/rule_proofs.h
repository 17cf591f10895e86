#pragma once

#include <optional>

#include "neuroshard/plan_result.h"
#include "neuroshard/task.h"

namespace neuroshard {

/// Why the rules and groups of `task` leave it no plan: tables that are kept together have no room
/// on one device, tables that are kept apart find too few devices, or all that may only go to the
/// devices that a table may go to have no room there. Nothing if none of it holds.
[[nodiscard]] std::optional<Infeasibility> proof_by_rules(const Task& task);

/// The same for any devices, such as those that two tables may go to together: finds some if there
/// are any, but takes longer.
[[nodiscard]] std::optional<Infeasibility> proof_by_overlapping_rules(const Task& task);

}  // namespace neuroshard
