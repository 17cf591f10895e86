#pragma once

#include <string>

namespace neuroshard::tools {

/// Text of `neuroshard --version`: version and commit, the backends that run here, and where the
/// built-in weights come from.
[[nodiscard]] std::string version_page();

}  // namespace neuroshard::tools
