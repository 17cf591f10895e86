#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "cuda/operators/bag_tables.h"

namespace neuroshard::gpu {

/// Lookups of a chunk of the first level, and chunks of a level in one of the next.
inline constexpr int kChunkWidth = 32;

/// Where a chunk of a level leaves the sums of rows of which it has only some of the lookups.
struct PartialSums {
  /// Sum of the row that began in an earlier chunk. If all lookups of the chunk are of one row that
  /// also goes on, the sum is here.
  float* head = nullptr;
  float* tail = nullptr;  ///< Sum of the row that goes on in the next chunk.
};

struct UpdateArgs {
  const BagTable* tables = nullptr;  ///< In device memory.
  int count = 0;
  const std::uint32_t* keys = nullptr;     ///< [lookups of all tables], ascending.
  const std::uint32_t* samples = nullptr;  ///< In the order of the lookups where keys are equal.
  const float* gradient = nullptr;         ///< [batch, stride]
  std::int64_t stride = 0;
  float learning_rate = 0.0F;
  std::int64_t child_width = 1;          ///< Lookups of a chunk of the level below; 1: none below.
  const ChunkRange* children = nullptr;  ///< [tables] of the level below.
  const ChunkRange* chunks = nullptr;    ///< [tables] of this level.
  PartialSums child_sums;
  PartialSums sums;
};

/// Chunks that a block works on in a table of `1 << lanes_log2` lanes a chunk.
[[nodiscard]] int chunks_of_block(int lanes_log2);

/// Exact SGD on rows all of whose lookups are in one chunk: row -= learning_rate * sum of their
/// gradients. The first level, chunks of lookups.
void update_rows(const UpdateArgs& args, unsigned blocks, cudaStream_t stream);

/// The levels above: rows that go through several chunks of the level below, but lie in one of
/// this. The order of sums is fixed: docs/kernels.md.
void join_rows(const UpdateArgs& args, unsigned blocks, cudaStream_t stream);

}  // namespace neuroshard::gpu
