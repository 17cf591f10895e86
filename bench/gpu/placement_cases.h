#pragma once

#include "bench/gpu/kernel_cases.h"

namespace neuroshard::bench {

/// Adds the cases that place candidates (`place_candidates`: a level of beam searches;
/// `search_beams`: whole ones), of tasks that are in device memory.
void add_placement_cases(std::vector<KernelCase>& cases, const CostModels& models,
                         const GoldenFolder& data, const SharedContext& context,
                         const KernelSizes& sizes);

}  // namespace neuroshard::bench
