#pragma once

#include <optional>

#include "neuroshard/plan.h"
#include "neuroshard/stop_condition.h"
#include "neuroshard/task.h"

namespace neuroshard {

/// Looks for a plan of `task` where the search by halving finds none: tables in slices of any
/// widths, at most one of a table on a device; row-wise; in row blocks on the devices of one node;
/// or replicated. Keeps all rules and groups. First in parts of the devices' memory, so that all
/// are about as full. Ends after a bounded number of steps; on tasks of some tables and devices
/// these are all plans of this sort. `equal_widths`: all slices of a table are equally wide, and a
/// device may have several. `task` is as with_rules_of_groups() has it, and has several devices.
[[nodiscard]] std::optional<Plan> plan_for_room(const Task& task, bool equal_widths,
                                                const StopCondition& stop);

}  // namespace neuroshard
