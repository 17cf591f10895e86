#pragma once

#include <vector>

#include "neuroshard/backend.h"
#include "neuroshard/plan.h"
#include "neuroshard/stop_condition.h"
#include "neuroshard/task.h"

namespace neuroshard {

/// Plans that are made for room alone.
struct RoomStarts {
  std::vector<Plan> plans;
  /// Proven: however tables are halved, there is no plan by columns.
  bool impossible = false;
};

/// Where no search that looks at costs has found room: packings of tables by columns, and if there
/// are none, or some tables may not be in columns, one plan of any ways. `task` is as
/// with_rules_of_groups() has it.
[[nodiscard]] RoomStarts starts_for_room(const Backend& backend, const Task& task,
                                         bool equal_widths, bool any_ways,
                                         const StopCondition& stop);

}  // namespace neuroshard
