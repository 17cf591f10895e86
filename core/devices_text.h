#pragma once

#include <string>

#include "neuroshard/task.h"

namespace neuroshard {

/// "8 devices of 40.00 GiB"; of devices that differ "8 devices of 20.00 GiB to 40.00 GiB and of
/// speeds 1.00 to 1.60".
[[nodiscard]] std::string devices_text(const Task& task);

}  // namespace neuroshard
