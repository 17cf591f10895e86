#pragma once

#include "tools/commands.h"

namespace neuroshard::tools {

/// The options of `train` without a sub-command: all parts of the weights, by the recipe that is
/// best on samples held back.
void add_fit_options(CLI::App& train, Action& chosen);

}  // namespace neuroshard::tools
