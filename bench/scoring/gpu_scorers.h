#pragma once

#include <optional>
#include <vector>

#include "bench/machine/machine_context.h"
#include "bench/scoring/scorer.h"

namespace neuroshard::bench {

// Scorers that nsbench measures on a GPU besides the library's own backend. All are empty without
// one.

/// Baselines on the GPU, e.g. the networks through cuBLAS.
[[nodiscard]] std::vector<ScorerKind> gpu_scorers(const CostModels& models);

/// Measured now: multiply-adds of single floats per second that the GPU does on registers.
[[nodiscard]] std::optional<double> gpu_multiply_adds_per_second();

/// Clocks, driver, CUDA version: what CudaDevice does not say.
[[nodiscard]] Context gpu_context();

}  // namespace neuroshard::bench
