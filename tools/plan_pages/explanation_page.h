#pragma once

#include <string>

#include "neuroshard/explanation_file.h"
#include "tools/text/text.h"

namespace neuroshard::tools {

/// The page of `neuroshard explain`: the device that decides, its terms, its slices by what the
/// plan would save without them, its cuts, and the rules, if they were asked for. For a task that
/// has no plan it says why, and which rules leave it without one.
[[nodiscard]] std::string explanation_page(const ExplanationDocument& document,
                                           const TextStyle& style);

}  // namespace neuroshard::tools
