#pragma once

#include "bench/gpu/kernel_cases.h"

namespace neuroshard::bench {

/// Those of kernel_cases() that anneal plans (`anneal_chains`), of tasks that are in device memory.
void add_annealing_cases(std::vector<KernelCase>& cases, const CostModels& models,
                         const GoldenFolder& data, const SharedContext& context,
                         const KernelSizes& sizes);

}  // namespace neuroshard::bench
