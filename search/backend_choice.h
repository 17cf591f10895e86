#pragma once

#include <string>

namespace neuroshard {

/// What PlannerOptions::backend means: "auto" is the environment's NEUROSHARD_BACKEND where that is
/// set and not empty. Throws Error if there is no backend of the name.
[[nodiscard]] std::string chosen_backend(const std::string& option);

}  // namespace neuroshard
