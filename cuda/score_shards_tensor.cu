#include <algorithm>

#include "cuda/launch.h"
#include "cuda/score_shards.h"
#include "cuda/shard_sums.cuh"
#include "cuda/tensor_cores.cuh"

namespace neuroshard::gpu {
namespace {

constexpr int kHidden = kPublishedHeadHidden;
constexpr int kWarps = 4;
constexpr int kBlocksPerMultiprocessor = 3;
constexpr int kTile = kWarpSize;            // Shards that a warp takes at a time,
constexpr int kRowTiles = kTile / 16;       // as rows of products of 16 rows,
constexpr int kInputTiles = kSumWidth / 8;  // 8 inputs
constexpr int kColumnTiles = kHidden / 8;   // and 8 hidden units.

struct TensorMemory {
  // Of each lane: high and low parts of its two weights of a product.
  uint4 weight[kColumnTiles][kInputTiles][kWarpSize];
  float bias[kHidden];
  float output_weight[kHidden];
  float sums[kWarps][kTile * kSumStride];
};

struct SplitInputs {
  TileInputs high;
  TileInputs low;
};

__device__ void load_weights(const MlpView& head, TensorMemory& memory) {
  const LayerView hidden = head.layers[0];
  const LayerView output = head.layers[1];
  const int thread = static_cast<int>(threadIdx.x);
  const auto weight = [&](int input, int unit) {
    return hidden.weight[(input / 4 * kHidden + unit) * 4 + input % 4];
  };
  for (int item = thread; item < kColumnTiles * kInputTiles * kWarpSize;
       item += kWarps * kWarpSize) {
    const int lane = item % kWarpSize;
    const int input = item / kWarpSize % kInputTiles * 8 + lane % 4;
    const int unit = item / (kWarpSize * kInputTiles) * 8 + lane / 4;
    const SplitFloat a = split_for_tensor_cores(weight(input, unit));
    const SplitFloat b = split_for_tensor_cores(weight(input + 4, unit));
    (&memory.weight[0][0][0])[item] = {a.high, b.high, a.low, b.low};
  }
  for (int i = thread; i < kHidden; i += kWarps * kWarpSize) {
    memory.bias[i] = hidden.bias[i];
    memory.output_weight[i] = output.weight[i];
  }
}

// A warp takes 32 shards at a time: sums as in score_shards_tiled, then the hidden layer on tensor
// cores, three products of TF32 numbers for each of fp32 (tensor_cores.cuh), the corrections in
// sums of their own. ReLU and output layer follow in registers, eight units at a time. 96 products
// of 16 x 8 x 8 a 16 shards: 6,144 multiply-adds of TF32 a shard in place of 2,048 of fp32, which
// leaves the fp32 units to the 512 additions; then bound by the 2 KB of embeddings a shard through
// L1, and 512 bytes of weights. Costs are not equal bit for bit to those of the other kernels.
__global__ void __launch_bounds__(kWarps* kWarpSize, kBlocksPerMultiprocessor)
    score_shards_tensor_kernel(const ScoreArgs args) {
  auto& memory = *reinterpret_cast<TensorMemory*>(dynamic_shared_memory());
  load_weights(args.head, memory);
  const float output_bias = args.head.layers[1].bias[0];
  __syncthreads();

  float* sums = memory.sums[warp_index()];
  const int lane = lane_index();
  const int row = lane / 4;
  const int column = lane % 4;
  const int stride = static_cast<int>(gridDim.x) * kWarps * kTile;
  for (int first = (static_cast<int>(blockIdx.x) * kWarps + warp_index()) * kTile;
       first < args.shards; first += stride) {
    sum_embeddings(args, first, sums);
    __syncwarp();
    SplitInputs x[kRowTiles][kInputTiles];
#pragma unroll
    for (int m = 0; m < kRowTiles; ++m) {
#pragma unroll
      for (int k = 0; k < kInputTiles; ++k) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const SplitFloat split = split_for_tensor_cores(
              sums[(16 * m + row + i % 2 * 8) * kSumStride + 8 * k + column + i / 2 * 4]);
          x[m][k].high.at[i] = split.high;
          x[m][k].low.at[i] = split.low;
        }
      }
    }
    __syncwarp();

    float cost[kRowTiles][2] = {};
#pragma unroll 1
    for (int n = 0; n < kColumnTiles; ++n) {
      const float2 bias = reinterpret_cast<const float2*>(memory.bias)[n * 4 + column];
      TileSums sum[kRowTiles];
      TileSums correction[kRowTiles] = {};
#pragma unroll
      for (int m = 0; m < kRowTiles; ++m) sum[m] = {{bias.x, bias.y, bias.x, bias.y}};
#pragma unroll
      for (int k = 0; k < kInputTiles; ++k) {
        const uint4 w = memory.weight[n][k][lane];
        const TileWeights high{{w.x, w.y}};
        const TileWeights low{{w.z, w.w}};
#pragma unroll
        for (int m = 0; m < kRowTiles; ++m) {
          multiply_add_tile(correction[m], x[m][k].low, high);
          multiply_add_tile(sum[m], x[m][k].high, high);
          multiply_add_tile(correction[m], x[m][k].high, low);
        }
      }
      const float2 weight = reinterpret_cast<const float2*>(memory.output_weight)[n * 4 + column];
#pragma unroll
      for (int m = 0; m < kRowTiles; ++m) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const int i = 2 * half;
          const float a = rectified(sum[m].at[i] + correction[m].at[i]);
          const float b = rectified(sum[m].at[i + 1] + correction[m].at[i + 1]);
          cost[m][half] = __fmaf_rn(weight.y, b, __fmaf_rn(weight.x, a, cost[m][half]));
        }
      }
    }
    // The four lanes of a row add up; then each stores one of their four rows.
    float mine = 0.0F;
#pragma unroll
    for (int i = 0; i < 2 * kRowTiles; ++i) {
      float total = cost[i / 2][i % 2];
      total += __shfl_xor_sync(kAllLanes, total, 1);
      total += __shfl_xor_sync(kAllLanes, total, 2);
      if (column == i) mine = total;
    }
    static_assert(kRowTiles == 2);
    const int shard = first + column * 8 + row;
    if (shard < args.shards) args.cost_ms[shard] = mine + output_bias;
  }
}

}  // namespace

void score_shards_tensor(const ScoreArgs& args, int multiprocessors, cudaStream_t stream) {
  const int blocks = std::min((args.shards + kWarps * kTile - 1) / (kWarps * kTile),
                              multiprocessors * kBlocksPerMultiprocessor);
  launch(score_shards_tensor_kernel,
         {static_cast<unsigned>(blocks), kWarps * kWarpSize, sizeof(TensorMemory)}, stream, args);
}

void prepare_score_shards_tensor(std::size_t max_shared_bytes) {
  allow_shared_memory(score_shards_tensor_kernel, max_shared_bytes);
}

}  // namespace neuroshard::gpu
