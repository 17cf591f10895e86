#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tools/commands.h"

namespace neuroshard::tools {

/// The program with all its sub-commands, or with the ones that `args` can mean. The one that
/// parsing chooses will be in `chosen`, which the program refers to.
[[nodiscard]] std::shared_ptr<CLI::App> make_program(Action& chosen,
                                                     const std::vector<std::string>& args = {});

}  // namespace neuroshard::tools
