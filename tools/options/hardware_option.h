#pragma once

#include <optional>
#include <string>

#include "neuroshard/hardware.h"

namespace neuroshard::tools {

/// Reads --hardware: a name, the text of a datasheet, or a file of one, which ends in ".json".
/// Nothing if it is empty. Throws Error naming the option or the file.
[[nodiscard]] std::optional<Hardware> hardware_of_option(const std::string& option);

}  // namespace neuroshard::tools
