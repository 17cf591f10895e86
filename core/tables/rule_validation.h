#pragma once

#include <optional>
#include <string>

#include "neuroshard/task.h"

namespace neuroshard {

/// Says what is wrong with the list of devices, if there is one, and what to do about it: it has as
/// many as the task, each with memory above 0 and loads in range. Nothing if nothing is.
[[nodiscard]] std::optional<std::string> device_list_problem_of(const Task& task);

/// Says what is wrong with the rules of `table`, which is valid otherwise, and what to do about it:
/// they contradict each other, the table, or the devices of `task`. Nothing if nothing is.
[[nodiscard]] std::optional<std::string> rule_problem_of(const Table& table, const Task& task);

}  // namespace neuroshard
