#include <algorithm>

#include "cuda/launch.h"
#include "cuda/score_shards.h"
#include "cuda/shard_sums.cuh"

namespace neuroshard::gpu {
namespace {

constexpr int kHidden = kPublishedHeadHidden;
constexpr int kQuads = kSumWidth / 4;
constexpr int kWarps = 4;
constexpr int kShardsPerLane = 4;
constexpr int kTile = kShardsPerLane * kWarpSize;

struct TileMemory {
  float4 weight[kQuads][kHidden];
  float bias[kHidden];
  float output_weight[kHidden];
  float sums[kWarps][kWarpSize * kSumStride];
};

// A warp takes 128 shards at a time, four a lane, whose sums it keeps in registers; weights are
// broadcast from shared memory, 16 bytes for 16 FMA. The hidden units l and l + 32 of one lane of
// the butterfly are computed together and added up in its order (docs/arithmetic.md, rule 3)
// without a shuffle. Per shard 2,112 FMA and 512 additions for 16 tables, and 2 KB of embeddings
// through the L1 cache, which takes as long as the FMA: both must overlap, hence several warps.
__global__ void __launch_bounds__(kWarps* kWarpSize, 2)
    score_shards_tiled_kernel(const ScoreArgs args) {
  auto& memory = *reinterpret_cast<TileMemory*>(dynamic_shared_memory());
  const LayerView hidden = args.head.layers[0];
  const LayerView output = args.head.layers[1];
  const int thread = static_cast<int>(threadIdx.x);
  for (int i = thread; i < kQuads * kHidden; i += kWarps * kWarpSize) {
    memory.weight[i / kHidden][i % kHidden] = reinterpret_cast<const float4*>(hidden.weight)[i];
  }
  for (int i = thread; i < kHidden; i += kWarps * kWarpSize) {
    memory.bias[i] = hidden.bias[i];
    memory.output_weight[i] = output.weight[i];
  }
  const float output_bias = output.bias[0];
  __syncthreads();

  float* sums = memory.sums[warp_index()];
  const int stride = static_cast<int>(gridDim.x) * kWarps * kTile;
  for (int first = (static_cast<int>(blockIdx.x) * kWarps + warp_index()) * kTile;
       first < args.shards; first += stride) {
    float4 x[kShardsPerLane][kQuads];
#pragma unroll
    for (int r = 0; r < kShardsPerLane; ++r) {
      sum_embeddings(args, first + r * kWarpSize, sums);
      __syncwarp();
#pragma unroll
      for (int quad = 0; quad < kQuads; ++quad) {
        x[r][quad] = reinterpret_cast<const float4*>(sums + lane_index() * kSumStride)[quad];
      }
      __syncwarp();
    }

    // Partial sums of the butterfly that wait for their neighbour, one set per level.
    float waiting[4][kShardsPerLane] = {};
    float last[kShardsPerLane] = {};
    float total[kShardsPerLane] = {};
#pragma unroll 1
    for (unsigned leaf = 0; leaf < kWarpSize; ++leaf) {
      const unsigned unit = __brev(leaf) >> 27;  // Neighbours in the tree come one after the other.
      float low[kShardsPerLane];
      float high[kShardsPerLane];
#pragma unroll
      for (int r = 0; r < kShardsPerLane; ++r) {
        low[r] = memory.bias[unit];
        high[r] = memory.bias[unit + kWarpSize];
      }
#pragma unroll
      for (int quad = 0; quad < kQuads; ++quad) {
        const float4 v = memory.weight[quad][unit];
        const float4 w = memory.weight[quad][unit + kWarpSize];
#pragma unroll
        for (int r = 0; r < kShardsPerLane; ++r) {
          low[r] = __fmaf_rn(v.x, x[r][quad].x, low[r]);
          high[r] = __fmaf_rn(w.x, x[r][quad].x, high[r]);
          low[r] = __fmaf_rn(v.y, x[r][quad].y, low[r]);
          high[r] = __fmaf_rn(w.y, x[r][quad].y, high[r]);
          low[r] = __fmaf_rn(v.z, x[r][quad].z, low[r]);
          high[r] = __fmaf_rn(w.z, x[r][quad].z, high[r]);
          low[r] = __fmaf_rn(v.w, x[r][quad].w, low[r]);
          high[r] = __fmaf_rn(w.w, x[r][quad].w, high[r]);
        }
      }
#pragma unroll
      for (int r = 0; r < kShardsPerLane; ++r) {
        const float first_half = __fmaf_rn(memory.output_weight[unit], rectified(low[r]), 0.0F);
        total[r] =
            __fmaf_rn(memory.output_weight[unit + kWarpSize], rectified(high[r]), first_half);
      }
      // Adds like a binary counter: the lowest zero bit of `leaf` is the level that now waits.
      bool carries = true;
#pragma unroll
      for (int level = 0; level < 4; ++level) {
        if (!carries) continue;
        const bool second = (leaf >> level & 1U) != 0;
#pragma unroll
        for (int r = 0; r < kShardsPerLane; ++r) {
          if (second) {
            total[r] = waiting[level][r] + total[r];
          } else {
            waiting[level][r] = total[r];
          }
        }
        carries = second;
      }
      if (carries) {
#pragma unroll
        for (int r = 0; r < kShardsPerLane; ++r) {
          if (leaf == kWarpSize - 1) {
            total[r] = last[r] + total[r];
          } else {
            last[r] = total[r];
          }
        }
      }
    }
#pragma unroll
    for (int r = 0; r < kShardsPerLane; ++r) {
      const int shard = first + r * kWarpSize + lane_index();
      if (shard < args.shards) args.cost_ms[shard] = total[r] + output_bias;
    }
  }
}

}  // namespace

void score_shards_tiled(const ScoreArgs& args, int multiprocessors, cudaStream_t stream) {
  constexpr int kBlocksPerMultiprocessor = 2;
  const int blocks = std::min((args.shards + kWarps * kTile - 1) / (kWarps * kTile),
                              multiprocessors * kBlocksPerMultiprocessor);
  launch(score_shards_tiled_kernel,
         {static_cast<unsigned>(blocks), kWarps * kWarpSize, sizeof(TileMemory)}, stream, args);
}

void prepare_score_shards_tiled(std::size_t max_shared_bytes) {
  allow_shared_memory(score_shards_tiled_kernel, max_shared_bytes);
}

}  // namespace neuroshard::gpu
