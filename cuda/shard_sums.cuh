#pragma once

#include "cuda/score_shards.h"
#include "cuda/warp.cuh"
#include "neuroshard/published_sizes.h"

namespace neuroshard::gpu {

inline constexpr int kSumWidth = kPublishedEmbedding;
static_assert(kMaxScoredPieces * (kSumWidth / 4) <= std::size_t{1} << 32);
/// Floats between the sums of two shards in shared memory: 32 lanes that each read 16 bytes of
/// another shard then touch every bank equally often, and so do lanes that read four rows of eight.
inline constexpr int kSumStride = kSumWidth + 4;

__device__ inline float4 plus(const float4& a, const float4& b) {
  return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

/// Sums of 32 shards from `first` on, by one warp, to `sums`: eight lanes a shard, 16 bytes of each
/// embedding a lane, four shards at a time. Beyond the last shard: that one again.
///
/// Eight loads are on their way before the first is needed. They depend on no condition: a load
/// that might be left out gets a register of its own, and then a move that waits for it. So a
/// shard's eight lanes read row 0 where others have tables left; they do not add it.
__device__ inline void sum_embeddings(const ScoreArgs& args, int first, float* sums) {
  constexpr int kGroup = 8;
  const int group = lane_index() / kGroup;
  const auto quad = static_cast<std::uint32_t>(lane_index() % kGroup);
  const auto* rows = reinterpret_cast<const float4*>(args.embeddings);
  for (int round = 0; round < kGroup; ++round) {
    const int local = round * (kWarpSize / kGroup) + group;
    const int shard = min(first + local, args.shards - 1);
    const std::uint32_t begin = read_only(args.offsets + shard);
    const std::uint32_t count = read_only(args.offsets + shard + 1) - begin;
    const std::uint32_t longest = __reduce_max_sync(kAllLanes, count);
    float4 sum = make_float4(0.0F, 0.0F, 0.0F, 0.0F);
    for (std::uint32_t k = 0; k < longest; k += kGroup) {
      const std::uint32_t mine = k + quad;
      const std::uint32_t first_quad =
          mine < count ? read_only(args.piece_ids + begin + mine) * (kSumWidth / 4) : 0;
      const std::uint32_t left = k < count ? count - k : 0;
      float4 row[kGroup];
#pragma unroll
      for (int j = 0; j < kGroup; ++j) {
        row[j] = read_only(rows + (__shfl_sync(kAllLanes, first_quad, j, kGroup) + quad));
      }
#pragma unroll
      for (int j = 0; j < kGroup; ++j) {
        if (static_cast<std::uint32_t>(j) < left) sum = plus(sum, row[j]);
      }
    }
    reinterpret_cast<float4*>(sums + local * kSumStride)[quad] = sum;
  }
}

}  // namespace neuroshard::gpu
