#pragma once

#include <cuda_runtime.h>

#include "cuda/device/warp.cuh"
#include "cuda/operators/bag_tables.h"

namespace neuroshard::gpu {

inline constexpr int kBagThreads = 256;

/// The last table whose first block is not behind `block`. Tables without blocks are skipped.
template <typename FirstBlock>
__device__ inline int table_of_block(int tables, unsigned block, FirstBlock first_block) {
  int low = 0;
  for (int high = tables; high - low > 1;) {
    const int middle = (low + high) / 2;
    (first_block(middle) <= block ? low : high) = middle;
  }
  return low;
}

__device__ inline float4 zeros() { return make_float4(0.0F, 0.0F, 0.0F, 0.0F); }

__device__ inline float4 sum_of(const float4& a, const float4& b) {
  return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

}  // namespace neuroshard::gpu
