#pragma once

#include <string>
#include <vector>

#include "neuroshard/task.h"

namespace CLI {
class App;
}

namespace neuroshard::tools {

/// --host-memory: "FIELD=VALUE", as `host_memory` of a task file has them.
void add_host_memory_option(CLI::App& command, std::vector<std::string>& stated,
                            const std::string& group);

/// Each takes the place of one field. Throws Error naming the option.
void apply_host_memory(const std::vector<std::string>& stated, Task& task);

}  // namespace neuroshard::tools
