#pragma once

#include <memory>
#include <vector>

#include "bench/scoring/scorer.h"
#include "cuda/backend/device_context.h"

namespace neuroshard::bench {

/// Ways to score shards whose inputs are in device memory already and whose costs stay there,
/// timed by CUDA events: the library's kernels, and the head through cuBLAS if there is one.
[[nodiscard]] std::vector<ScorerKind> device_scorers(
    const CostModels& models, const std::shared_ptr<const gpu::DeviceContext>& context);

}  // namespace neuroshard::bench
