#pragma once

#include <optional>
#include <span>
#include <string>

#include "bench/scoring/score_benchmarks.h"
#include "neuroshard/cost_models.h"

namespace neuroshard::bench {

/// Multiply-adds of the compute model's head: all that a shard costs besides the sum of its
/// pieces' embeddings.
[[nodiscard]] double multiply_adds_per_shard(const Mlp& head);

/// Ceilings, in multiply-adds per second.
struct ScoreCeilings {
  double per_core = 0.0;  ///< The best repetition; 0: not known.
  std::optional<double> gpu;
};
[[nodiscard]] ScoreCeilings ceilings_of(std::span<const ScoreTimes> times);

/// Share of the ceiling that the median and the best repetition reached, on a CPU by CPU time; NaN
/// without a ceiling. As the ceiling is a best repetition, the median is unfair on a busy machine.
struct CeilingShare {
  double median = 0.0;
  double best = 0.0;
};
[[nodiscard]] CeilingShare share_of_ceiling(const ScoreTimes& times, const ScoreCeilings& ceilings,
                                            double multiply_adds_a_shard);

/// A row for each scorer and batch size, for one number of threads. Baselines are those scorers
/// whose names are in `baselines`; a column says how many times as fast as each a row is, at the
/// same batch size or, where that was not timed, at the baseline's largest.
[[nodiscard]] std::string score_table(std::span<const ScoreTimes> times, int threads,
                                      std::span<const std::string> baselines,
                                      const ScoreCeilings& ceilings, double multiply_adds_a_shard);

/// Shards per second over the batch size, one line a scorer, one panel a number of threads.
[[nodiscard]] std::string score_chart(std::span<const ScoreTimes> times,
                                      const ScoreCeilings& ceilings, double multiply_adds_a_shard);

}  // namespace neuroshard::bench
