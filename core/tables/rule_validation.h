#pragma once

#include <optional>
#include <string>

#include "neuroshard/task.h"

namespace neuroshard {

/// Throws Error naming device and field unless a list of devices, if there is one, has as many as
/// the task, each with memory above 0 and loads in range. `where` opens the message.
void validate_device_list(const Task& task, const std::string& where);

/// Says what is wrong with the rules of `table`, which is valid otherwise, and what to do about it:
/// they contradict each other, the table, or the devices of `task`. Nothing if nothing is.
[[nodiscard]] std::optional<std::string> rule_problem_of(const Table& table, const Task& task);

}  // namespace neuroshard
