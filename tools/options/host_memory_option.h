#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "neuroshard/task.h"

namespace neuroshard::command_line {
class OptionGroup;
}

namespace neuroshard::tools {

/// --host-memory: "FIELD=VALUE", as `host_memory` of a task file has them. gb or node_gb may be
/// stated several times, for what-ifs.
void add_host_memory_option(const command_line::OptionGroup& group,
                            std::vector<std::string>& stated);

/// Bytes of each gb or node_gb that is stated. Throws Error naming the option if both are.
[[nodiscard]] std::vector<std::int64_t> host_sizes(const std::vector<std::string>& stated);

/// Each takes the place of one field. Of several sizes the task has the largest. Throws Error
/// naming the option.
void apply_host_memory(const std::vector<std::string>& stated, Task& task);

}  // namespace neuroshard::tools
