#pragma once

#include <cuda_runtime.h>

#include "cuda/annealing/chain_views.h"

namespace neuroshard::gpu {

/// Runs chains of annealing to their ends, in one launch.
void anneal_chains(const ChainArgs& args, unsigned chains, cudaStream_t stream);

/// Once per device, before the first launch.
void prepare_anneal_chains(std::size_t max_shared_bytes);

}  // namespace neuroshard::gpu
