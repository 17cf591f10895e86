#pragma once

#include <string>
#include <vector>

#include "neuroshard/task.h"

namespace neuroshard::command_line {
class OptionGroup;
}

namespace neuroshard::tools {

/// --host-memory: "FIELD=VALUE", as `host_memory` of a task file has them.
void add_host_memory_option(const command_line::OptionGroup& group,
                            std::vector<std::string>& stated);

/// Each takes the place of one field. Throws Error naming the option.
void apply_host_memory(const std::vector<std::string>& stated, Task& task);

}  // namespace neuroshard::tools
