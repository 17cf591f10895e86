#pragma once

#include <span>
#include <string>

#include "bench/gap/gap.h"
#include "bench/json_report.h"

namespace neuroshard::bench {

/// A row a case.
[[nodiscard]] std::string gap_table(std::span<const GapResult> results);

/// A row for each number of devices, and one for all: ratios of costs over the cases for which both
/// have a plan.
[[nodiscard]] std::string gap_summary(std::span<const GapResult> results);

/// A row for each stage of the search: the best plan's cost after it over that of uniform widths,
/// by number of devices, and in how many cases it found the cheapest plan of all. Cases without a
/// plan of uniform widths do not count.
[[nodiscard]] std::string stages_table(std::span<const GapResult> results);

/// Over device counts: our cost over that of uniform widths and of annealing.
[[nodiscard]] std::string gap_chart(std::span<const GapResult> results);

/// Adds "gap/CASE/devices:D" with what gap_table() shows.
void add_to_report(JsonReport& report, const GapResult& result, int threads);

}  // namespace neuroshard::bench
