#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "cuda/operators/bag_tables.h"

namespace neuroshard::gpu {

struct PoolArgs {
  const BagTable* tables = nullptr;  ///< In device memory.
  int count = 0;
  std::int64_t batch = 0;
  std::int64_t stride = 0;  ///< Floats of a sample of the output: the sum of the dims.
  float* output = nullptr;  ///< [batch, stride]
};

/// Bags that a block pools in a table of `1 << lanes_log2` lanes a bag.
[[nodiscard]] int bags_of_block(int lanes_log2);

/// output[s, column ...] = sum of the rows that sample `s` looks up, one table beside the other, in
/// the order of the lookups. `blocks`: of all tables (BagTable::first_pooling).
void pool_bags(const PoolArgs& args, unsigned blocks, cudaStream_t stream);

}  // namespace neuroshard::gpu
