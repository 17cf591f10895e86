#pragma once

#include <cuda_runtime.h>

#include <cstddef>

namespace neuroshard::gpu {

/// values[0 .. count) = pseudo-random numbers in [-scale / 2, scale / 2), a multiple of
/// scale / 2^24 each, so that none is so small that sums of them are subnormal.
void fill_random(float* values, std::size_t count, float scale, cudaStream_t stream);

}  // namespace neuroshard::gpu
