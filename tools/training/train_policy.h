#pragma once

#include "tools/commands.h"

namespace neuroshard::tools {

/// Adds `policy` to the sub-commands of `train`.
void add_train_policy(CLI::App& train, Action& chosen);

}  // namespace neuroshard::tools
