#pragma once

#include <optional>
#include <string>

#include "neuroshard/task.h"

namespace neuroshard {

/// What is wrong with the memory that `task` reserves on its devices, beside their base loads, and
/// what to do about it. Nothing if nothing is.
[[nodiscard]] std::optional<std::string> reserved_problem_of(const Task& task);

}  // namespace neuroshard
