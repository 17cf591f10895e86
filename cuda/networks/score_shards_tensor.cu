#include "cuda/device/launch.h"
#include "cuda/device/tensor_cores.cuh"
#include "cuda/networks/score_shards.h"
#include "cuda/networks/shard_gather.cuh"

namespace neuroshard::gpu {
namespace {

constexpr int kHidden = kPublishedHeadHidden;
constexpr int kWarps = 16;
constexpr int kThreads = kWarps * kWarpSize;
constexpr int kRowTiles = kTileShards / 16;  // Products have 16 rows of shards,
constexpr int kInputTiles = kSumWidth / 8;   // 8 inputs
constexpr int kColumnTiles = kHidden / 8;    // and 8 hidden units.

struct TensorMemory {
  // High and low parts of each lane's two weights of a product.
  uint4 weight[kColumnTiles][kInputTiles][kWarpSize];
  TileSums bias[kColumnTiles][4];  // Lanes with the same columns share an entry.
  float2 output_weight[kColumnTiles][4];
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
  for (int item = thread; item < kColumnTiles * kInputTiles * kWarpSize; item += kThreads) {
    const int lane = item % kWarpSize;
    // The inputs of a product are those that a lane has: one of each of its two quads.
    const int input = lane % 4 * 8 + item / kWarpSize % kInputTiles;
    const int unit = item / (kWarpSize * kInputTiles) * 8 + lane / 4;
    const SplitFloat a = split_for_tensor_cores(weight(input, unit));
    const SplitFloat b = split_for_tensor_cores(weight(input + 4, unit));
    (&memory.weight[0][0][0])[item] = {a.high, b.high, a.low, b.low};
  }
  for (int pair = thread; pair < kHidden / 2; pair += kThreads) {
    const float a = hidden.bias[2 * pair];
    const float b = hidden.bias[2 * pair + 1];
    (&memory.bias[0][0])[pair] = {{a, b, a, b}};
    (&memory.output_weight[0][0])[pair] = {output.weight[2 * pair], output.weight[2 * pair + 1]};
  }
}

// Large batches on tensor cores. Sums as in score_shards_gemm, then the hidden layer as three
// products of TF32 numbers for each of fp32 (tensor_cores.cuh), the corrections in sums of their
// own. ReLU and output layer follow in registers, eight units at a time. 96 products of 16 x 8 x 8
// a 16 shards: 6,144 multiply-adds of TF32 a shard in place of 2,048 of fp32, which leaves the fp32
// units to the 512 additions; then bound by the 2 KB of embeddings that a shard reads, and 512
// bytes of weights. Costs are not equal bit for bit to those of the other kernels.
template <bool kRowsInShared>
__global__ void __launch_bounds__(kThreads, 1)
    score_shards_tensor_kernel(const ScoreArgs args, int ids) {
  auto& memory = *reinterpret_cast<TensorMemory*>(dynamic_shared_memory());
  const ShardGather<kRowsInShared> gather(args, dynamic_shared_memory() + sizeof(TensorMemory),
                                          ids);
  load_weights(args.head, memory);
  const float output_bias = args.head.layers[1].bias[0];
  __syncthreads();

  const int lane = lane_index();
  const int row = lane / 4;
  const int column = lane % 4;
  const int stride = static_cast<int>(gridDim.x) * kWarps * kTileShards;
  int first = (static_cast<int>(blockIdx.x) * kWarps + warp_index()) * kTileShards;
  IdRange mine = ids_of_lane(args, first);
  gather.fetch_ids(mine);
  for (; first < args.shards; first += stride) {
    const IdRange next = ids_of_lane(args, first + stride);
    LaneSums sums;
    gather.add_up(mine, sums);
    SplitInputs x[kRowTiles][kInputTiles];
#pragma unroll
    for (int m = 0; m < kRowTiles; ++m) {
#pragma unroll
      for (int k = 0; k < kInputTiles; ++k) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const SplitFloat split = split_for_tensor_cores(at(sums[2 * m + i % 2][i / 2], k));
          x[m][k].high.at[i] = split.high;
          x[m][k].low.at[i] = split.low;
        }
      }
    }
    __syncwarp();
    mine = next;
    gather.fetch_ids(mine);

    float cost[kRowTiles][2] = {};
#pragma unroll 1
    for (int n = 0; n < kColumnTiles; ++n) {
      TileSums sum[kRowTiles];
      TileSums correction[kRowTiles];
#pragma unroll
      for (int k = 0; k < kInputTiles; ++k) {
        const uint4 w = memory.weight[n][k][lane];
        const TileWeights high{{w.x, w.y}};
        const TileWeights low{{w.z, w.w}};
#pragma unroll
        for (int m = 0; m < kRowTiles; ++m) {
          correction[m] = multiply_add_tile(x[m][k].low, high, k == 0 ? TileSums{} : correction[m]);
          sum[m] = multiply_add_tile(x[m][k].high, high, k == 0 ? memory.bias[n][column] : sum[m]);
          correction[m] = multiply_add_tile(x[m][k].high, low, correction[m]);
        }
      }
      const float2 weight = memory.output_weight[n][column];
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
    float mine_of_four = 0.0F;
#pragma unroll
    for (int i = 0; i < 2 * kRowTiles; ++i) {
      float total = cost[i / 2][i % 2];
      total += __shfl_xor_sync(kAllLanes, total, 1);
      total += __shfl_xor_sync(kAllLanes, total, 2);
      if (column == i) mine_of_four = total;
    }
    static_assert(kRowTiles == 2);
    const int shard = first + row * 4 + column;
    if (shard < args.shards) args.cost_ms[shard] = mine_of_four + output_bias;
  }
}

static_assert(sizeof(TensorMemory) + least_gather_bytes(kWarps) <= kLargeBatchSharedBytes);

}  // namespace

void score_shards_tensor(const ScoreArgs& args, int multiprocessors, std::size_t max_shared_bytes,
                         cudaStream_t stream) {
  launch_on_tiles(score_shards_tensor_kernel<true>, score_shards_tensor_kernel<false>, args, kWarps,
                  sizeof(TensorMemory), multiprocessors, max_shared_bytes, stream);
}

void prepare_score_shards_tensor(std::size_t max_shared_bytes) {
  allow_shared_memory(score_shards_tensor_kernel<true>, max_shared_bytes);
  allow_shared_memory(score_shards_tensor_kernel<false>, max_shared_bytes);
}

}  // namespace neuroshard::gpu
