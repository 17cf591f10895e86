#pragma once

#include <cuda_runtime.h>

#include "cuda/beam_views.h"

namespace neuroshard::gpu {

/// What search_beams needs of shared memory besides what a placement does.
inline constexpr std::size_t kControlBytes =
    (4 + kMostCompared / 32 + kMostCompared) * sizeof(unsigned);

/// Shared memory of a block.
[[nodiscard]] std::size_t beam_shared_bytes(const PlacementShape& shape);

/// Runs whole beam searches in one launch. `items`: of all levels of a search, at most.
void search_beams(const BeamArgs& args, unsigned items, cudaStream_t stream);

/// Once per device, before the first launch.
void prepare_search_beams(std::size_t max_shared_bytes);

}  // namespace neuroshard::gpu
