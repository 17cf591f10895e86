#pragma once

#include <cuda_runtime.h>

#include "cuda/placement/placement_layout.h"

namespace neuroshard::gpu {

/// True if `head` is the one that fits in the registers of a warp: 32 -> 64 -> 1.
[[nodiscard]] bool fits_registers(const MlpView& head, int width);

/// Shared memory of a block.
[[nodiscard]] std::size_t placement_shared_bytes(const PlacementShape& shape);

/// Places all candidates in one launch of `blocks` blocks.
void place_candidates(const PlacementArgs& args, unsigned blocks, cudaStream_t stream);

/// Once per device, before the first launch.
void prepare_place_candidates(std::size_t max_shared_bytes);

}  // namespace neuroshard::gpu
