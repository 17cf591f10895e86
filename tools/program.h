#pragma once

#include <memory>

#include "tools/commands.h"

namespace neuroshard::tools {

/// The program with all its sub-commands. The one that parsing chooses will be in `chosen`, which
/// the program refers to.
[[nodiscard]] std::shared_ptr<CLI::App> make_program(Action& chosen);

}  // namespace neuroshard::tools
