#pragma once

#include <cstdint>
#include <vector>

#include "neuroshard/plan.h"
#include "neuroshard/task.h"

namespace neuroshard {

/// Bytes of `plan`, of some tables of `task`, on each device, [devices], replicas included.
[[nodiscard]] std::vector<std::int64_t> plan_bytes(const Task& task, const Plan& plan);

}  // namespace neuroshard
