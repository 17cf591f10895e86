#pragma once

#include <optional>

#include "neuroshard/plan_result.h"
#include "neuroshard/task.h"

namespace neuroshard {

/// Why the rules and groups of `task` leave it no plan: tables that are kept together have no room
/// on one device, tables that are kept apart find too few devices, or those that only some devices
/// may hold have no room there. Nothing if none of it holds.
[[nodiscard]] std::optional<Infeasibility> proof_by_rules(const Task& task);

}  // namespace neuroshard
