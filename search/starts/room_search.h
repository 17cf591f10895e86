#pragma once

#include <optional>

#include "neuroshard/backend.h"
#include "neuroshard/plan.h"
#include "neuroshard/stop_condition.h"
#include "neuroshard/task.h"
#include "search/state/table_ways.h"

namespace neuroshard {

struct RoomFound {
  std::optional<Plan> plan{};
  /// Proven: there is no plan in these ways.
  bool impossible = false;
};

/// Looks for a plan by memory alone, in the ways that rules, groups and `options` leave tables:
/// columns in slices, of any widths at most one on a device; or all columns row-wise, in row blocks
/// of devices side by side, or replicated. Ends after a bounded number of steps, which on tasks of
/// some tables and devices is enough for all such plans, and at `stop`. `task`: as
/// with_rules_of_groups() has it.
[[nodiscard]] RoomFound find_room(const Backend& backend, const Task& task,
                                  const WayOptions& options, const StopCondition& stop);

}  // namespace neuroshard
