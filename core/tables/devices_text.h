#pragma once

#include <optional>
#include <string>

#include "neuroshard/task.h"

namespace neuroshard {

/// "8 devices of 40.00 GiB"; of devices that differ "8 devices of 20.00 GiB to 40.00 GiB and of
/// speeds 1.00 to 1.60".
[[nodiscard]] std::string devices_text(const Task& task);

/// How devices are connected, as far as a task states it: "of 4 devices, with links:
/// in_node_gb_s 300, node_gb_s 25". Empty if it states neither links nor another number of
/// devices than the default.
[[nodiscard]] std::string nodes_text(int devices_per_node, const std::optional<NodeLinks>& links);

}  // namespace neuroshard
