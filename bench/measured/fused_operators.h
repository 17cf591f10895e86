#pragma once

#include <filesystem>
#include <vector>

#include "bench/measured/measurements.h"

namespace neuroshard::bench {

/// Reads lines of JSON, gzip-compressed or not; docs/analytic_sources.md describes the fields. Each
/// is an operator that was timed on some GPUs: a measurement of either pass on each. Throws Error
/// naming file and line.
[[nodiscard]] std::vector<MeasuredTime> read_fused_operators(const std::filesystem::path& path);

}  // namespace neuroshard::bench
