#pragma once

#include <string>

#include "neuroshard/task.h"

#pragma GCC visibility push(default)
namespace neuroshard {

/// Says what of `task` decides memory but not predicted costs. Costs are of batches of
/// `task.batch_size` samples. They are also of operators of fp32 weights, SGD and one feature,
/// unless they `follow_traffic`, as analytic costs do, and backends of which follows_weight_types()
/// is true. Empty: nothing.
[[nodiscard]] std::string prediction_limits(const Task& task, bool follow_traffic);

}  // namespace neuroshard
#pragma GCC visibility pop
