#pragma once

#include <optional>
#include <vector>

#include "neuroshard/stop_condition.h"
#include "neuroshard/task.h"

namespace neuroshard {

/// `task` with rules on devices in the place of its groups, which keep tables apart: each of their
/// tables gets devices of its own, more of them the more it has to do, so that whatever is placed
/// under these rules keeps the groups. For starts; not all plans that keep the groups keep these
/// rules. Nothing if some table is left without a device, within a bounded number of steps and
/// before `stop`.
[[nodiscard]] std::optional<Task> with_devices_of_apart_tables(const Task& task,
                                                               const StopCondition& stop = {});

}  // namespace neuroshard
