#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "cuda/networks/network_view.h"

namespace neuroshard::gpu {

/// Quads of an embedding of the published size are counted in 32 bits (shard_gather.cuh).
inline constexpr std::size_t kMaxScoredPieces = std::size_t{1} << 29;

struct ScoreArgs {
  MlpView head;
  const float* embeddings = nullptr;  ///< [pieces, width]
  int pieces = 0;                     ///< Fewer than kMaxScoredPieces.
  int width = 0;
  const std::uint32_t* offsets = nullptr;  ///< [shards + 1]
  const std::uint32_t* piece_ids = nullptr;
  int shards = 0;
  float* cost_ms = nullptr;  ///< [shards]
};

/// Compute costs of shards. Any network; the shape for small batches and odd networks.
void score_shards(const ScoreArgs& args, int multiprocessors, cudaStream_t stream);
/// Shared memory of a block of it.
[[nodiscard]] std::size_t score_shards_bytes(const MlpView& head, int width);
void prepare_score_shards(std::size_t max_shared_bytes);

/// Shared memory of a block that the kernel for large batches needs; every GPU of compute
/// capability 8.0 and later has it.
inline constexpr std::size_t kLargeBatchSharedBytes = std::size_t{99} << 10;
/// True if that kernel can and should run: the head is the one that it is made for, and the batch
/// is large enough.
[[nodiscard]] bool is_large_batch(const ScoreArgs& args, int multiprocessors,
                                  std::size_t max_shared_bytes);

/// The shape for large batches of the head 32 -> 64 -> 1 (score_shards_gemm.cu). Same results.
void score_shards_gemm(const ScoreArgs& args, int multiprocessors, std::size_t max_shared_bytes,
                       cudaStream_t stream);
void prepare_score_shards_gemm(std::size_t max_shared_bytes);

}  // namespace neuroshard::gpu
