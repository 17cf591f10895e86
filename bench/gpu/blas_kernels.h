#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace neuroshard::bench {

// Kernels of the cuBLAS baseline besides products. Each reads and writes device memory once.

/// sums [shards, width] of the embeddings [pieces, width] of each shard's pieces; `offsets` are
/// absolute, so that a part of a batch can be summed. width: a multiple of 4.
void sum_embeddings(const float* embeddings, int width, const std::uint32_t* offsets,
                    const std::uint32_t* piece_ids, int shards, float* sums, cudaStream_t stream);

/// Adds bias [units] to each row of rows [count, units], and takes the ReLU if wanted.
void add_bias(float* rows, int count, int units, const float* bias, bool relu, cudaStream_t stream);

}  // namespace neuroshard::bench
