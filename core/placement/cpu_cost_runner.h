#pragma once

#include <memory>

#include "core/models/packed_models.h"
#include "neuroshard/cost_runner.h"

namespace neuroshard {

/// Cost models by the CPU's kernels. Borrows `kernels` and `models`.
[[nodiscard]] std::unique_ptr<CostRunner> make_cpu_cost_runner(const CpuKernels& kernels,
                                                               const PackedModels& models,
                                                               int devices);

}  // namespace neuroshard
