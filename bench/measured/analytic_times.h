#pragma once

#include <filesystem>
#include <optional>

#include "bench/measured/measurements.h"

namespace neuroshard::bench {

/// Analytic microseconds in the place of measured ones. An iteration has the cost of the plan that
/// the search finds with built-in weights, and nothing without a task. `folder` has the
/// measurements: names of tasks are relative to it. Throws Error if a task cannot be read or has no
/// plan.
[[nodiscard]] std::optional<double> analytic_us(const MeasuredTime& measurement,
                                                const std::filesystem::path& folder);

}  // namespace neuroshard::bench
