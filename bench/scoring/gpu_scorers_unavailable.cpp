// Stands in for bench/gpu/ in a build without CUDA.
#include "bench/commands.h"
#include "bench/scoring/gpu_scorers.h"

namespace neuroshard::bench {

std::vector<ScorerKind> gpu_scorers(const CostModels&) { return {}; }

std::optional<double> gpu_multiply_adds_per_second() { return std::nullopt; }

Context gpu_context() { return {}; }

void add_kernels_command(CLI::App&, Action&) {}

}  // namespace neuroshard::bench
