#pragma once

#include <benchmark/benchmark.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "bench/machine/machine_context.h"
#include "bench/stopwatch.h"

namespace neuroshard::bench {

/// Measurement of one configuration.
struct Measurement {
  std::string name;             ///< E.g. "plan/4gpu_dim128/backend:avx2/threads:1".
  std::vector<Elapsed> rounds;  ///< Mean time of one operation, in each round.
  std::int64_t operations = 1;  ///< In one round.
  int threads = 1;
  std::map<std::string, double>
      figures;        ///< Figures of all rounds together; those not finite are left out.
  std::string label;  ///< Free text; may be empty.
};

/// Results as the JSON of Google Benchmark, so that its tools (compare.py) read them: a run for
/// each round, then their median, which also carries the figures.
class JsonReport {
 public:
  using Run = benchmark::BenchmarkReporter::Run;

  void add(const Measurement& measurement);
  /// Runs that Google Benchmark made itself.
  void add(const std::vector<Run>& runs);

  /// `context` joins what Google Benchmark says of the machine, without the host's name.
  [[nodiscard]] std::string str(const Context& context) const;

 private:
  std::vector<std::vector<Run>> groups_;
  std::int64_t families_ = 0;
};

}  // namespace neuroshard::bench
