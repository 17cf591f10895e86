#pragma once

#include <benchmark/benchmark.h>

#include <vector>

namespace neuroshard::bench {

/// Keeps what Google Benchmark reports and prints nothing. A benchmark with repetitions has two
/// groups: its repetitions, then their mean, median and so on.
class RunCollector final : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override { groups.push_back(runs); }

  std::vector<std::vector<Run>> groups;
};

}  // namespace neuroshard::bench
