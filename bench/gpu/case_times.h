#pragma once

#include <benchmark/benchmark.h>

#include <span>
#include <vector>

#include "bench/gpu/kernel_cases.h"

namespace neuroshard::bench {

struct CaseTimes {
  /// As Google Benchmark reports them: each repetition, and their mean, median and so on.
  std::vector<benchmark::BenchmarkReporter::Run> runs;
  std::vector<double> seconds;  ///< Seconds of a launch, one entry a repetition.
};

/// Times each case `repetitions` times, for `min_seconds` each; one entry a case, in their order.
/// The cases' names (kernel and input) differ.
[[nodiscard]] std::vector<CaseTimes> time_cases(std::span<const KernelCase> cases, int repetitions,
                                                double min_seconds);

}  // namespace neuroshard::bench
