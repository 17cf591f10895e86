#pragma once

#include <cuda_runtime.h>

#include "cuda/placement/beam_views.h"

namespace neuroshard::gpu {

/// Runs whole beam searches in one launch. `items`: of all levels of a search, at most.
void search_beams(const BeamArgs& args, unsigned items, cudaStream_t stream);

/// Once per device, before the first launch.
void prepare_search_beams(std::size_t max_shared_bytes);

}  // namespace neuroshard::gpu
