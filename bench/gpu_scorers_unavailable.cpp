#include "bench/gpu_scorers.h"

namespace neuroshard::bench {

std::vector<ScorerKind> gpu_scorers(const CostModels&) { return {}; }

std::optional<double> gpu_multiply_adds_per_second() { return std::nullopt; }

Context gpu_context() { return {}; }

}  // namespace neuroshard::bench
