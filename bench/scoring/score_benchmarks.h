#pragma once

#include <span>
#include <string>
#include <vector>

#include "bench/json_report.h"
#include "bench/scoring/scorer.h"

namespace neuroshard::bench {

/// How scoring is measured.
struct ScoreMeasurement {
  std::vector<std::size_t> batches;  ///< Shards a call.
  std::vector<int> threads;          ///< Each scores batches of its own.
  std::size_t scalar_max_batch = 0;  ///< The scalar backend is not timed on larger ones.
  int repetitions = 5;
  double min_seconds = 0.05;  ///< Time of one repetition.
};

/// Rates of one scorer, one batch size and one thread count; an entry a repetition.
struct ScoreTimes {
  std::string scorer;  ///< kCeiling: multiply-adds, not shards.
  bool on_gpu = false;
  std::size_t batch = 0;
  int threads = 1;
  std::vector<double> per_second;      ///< By wall time, all threads together.
  std::vector<double> per_cpu_second;  ///< By CPU time: what one core does when it has it.
};
inline constexpr const char* kCeiling = "multiply-adds";

/// Throws Error if a kind's costs are not those of the scalar backend, for every shard of `input`.
void check_scorers(std::span<const ScorerKind> kinds, const ScoringInput& input,
                   const CostModels& models);

/// Runs everything in Google Benchmark, repetitions in random order, so that a disturbance of the
/// machine hits all alike; the ceiling of the CPU among them.
[[nodiscard]] std::vector<ScoreTimes> time_scorers(std::span<const ScorerKind> kinds,
                                                   const ScoringInput& input,
                                                   const ScoreMeasurement& measurement,
                                                   JsonReport& report);

}  // namespace neuroshard::bench
