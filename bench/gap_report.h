#pragma once

#include <span>
#include <string>

#include "bench/gap.h"
#include "bench/json_report.h"

namespace neuroshard::bench {

/// A row a case.
[[nodiscard]] std::string gap_table(std::span<const GapResult> results);

/// A row for each number of devices, and one for all: ratios of costs over the cases for which both
/// have a plan.
[[nodiscard]] std::string gap_summary(std::span<const GapResult> results);

/// Over device counts: our cost over that of uniform widths and of annealing.
[[nodiscard]] std::string gap_chart(std::span<const GapResult> results);

/// Adds "gap/CASE/devices:D" with what gap_table() shows.
void add_to_report(JsonReport& report, const GapResult& result, int threads);

}  // namespace neuroshard::bench
