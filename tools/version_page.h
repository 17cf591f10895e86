#pragma once

#include <string>

namespace neuroshard::tools {

/// What `neuroshard --version` prints: version and commit, the backends that run here, and where
/// the built-in weights come from.
[[nodiscard]] std::string version_page();

}  // namespace neuroshard::tools
