#pragma once

#include <string>

#include "neuroshard/task.h"

#pragma GCC visibility push(default)
namespace neuroshard {

/// Says what of `task` decides memory but not predicted costs, which are of fp32 weights and
/// batches of `task.batch_size` samples. Empty: nothing.
[[nodiscard]] std::string prediction_limits(const Task& task);

}  // namespace neuroshard
#pragma GCC visibility pop
