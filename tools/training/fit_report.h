#pragma once

#include <string>
#include <vector>

#include "tools/training/fitted_weights.h"

namespace neuroshard::tools {

/// Recipes that were tried, and the errors of those that were chosen, for terminals.
[[nodiscard]] std::string fit_page(const FittedWeights& fitted);

/// A page for browsers: `text`, then predicted over measured costs of all parts. `title` may be
/// any text.
[[nodiscard]] std::string fit_html(const std::string& title, const std::string& text,
                                   const FittedWeights& fitted);

}  // namespace neuroshard::tools
