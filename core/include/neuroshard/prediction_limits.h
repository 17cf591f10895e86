#pragma once

#include <string>

#include "neuroshard/task.h"

#pragma GCC visibility push(default)
namespace neuroshard {

/// Says what of `task` decides memory but not predicted costs. Costs are of batches of
/// `task.batch_size` samples. They are also of operators of fp32 weights, SGD and one feature,
/// unless they `follow_traffic`, as backends that follow_weight_types() and analytic costs do.
/// Empty: nothing.
[[nodiscard]] std::string prediction_limits(const Task& task, bool follow_traffic);

}  // namespace neuroshard
#pragma GCC visibility pop
