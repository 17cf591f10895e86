#pragma once

#include "neuroshard/plan.h"
#include "neuroshard/task.h"

namespace neuroshard::testing {

// Plans recounted by what the formats say of plans and memory, and not by what the library
// computes.

/// Expects of a plan at this cost that each row and column of every table is on one device, or the
/// table on all; that rules, kinds, groups and the memory of devices are kept, of which each takes
/// the bytes that `cost` says; and that the terms of each device add up.
void expect_recounts(const Task& task, const Plan& plan, const PlanCost& cost);

/// Whether whole tables, the largest first, each to the first device that may hold it and has room,
/// are a plan.
[[nodiscard]] bool first_fit_finds_room(const Task& task);

}  // namespace neuroshard::testing
