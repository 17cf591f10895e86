#pragma once

#include <optional>
#include <string>

#include "neuroshard/task.h"

namespace neuroshard {

/// " is 1.5; give a number of at least 0 and less than 1, e.g. 0.15", to follow the name of the
/// field or option. Nothing if that share of memory may be reserved.
[[nodiscard]] std::optional<std::string> reserved_share_problem_of(double share);

/// Says what is wrong with the memory that `task` reserves on its devices, beside their base loads,
/// and what to do about it. Nothing if nothing is.
[[nodiscard]] std::optional<std::string> reserved_problem_of(const Task& task);

}  // namespace neuroshard
