#pragma once

#include <optional>

#include "neuroshard/task.h"

namespace neuroshard {

/// `task` for equal devices: all as fast as the slowest, with as much room as the one that has
/// least, and without base loads. Each plan for it is one for `task`. Nothing if the devices of
/// `task` are alike, or one of them has no room.
[[nodiscard]] std::optional<Task> equalized_task(const Task& task);

}  // namespace neuroshard
