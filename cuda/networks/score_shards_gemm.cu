#include "cuda/device/launch.h"
#include "cuda/networks/score_shards.h"
#include "cuda/networks/shard_gather.cuh"
#include "cuda/placement/place_candidates.h"

namespace neuroshard::gpu {
namespace {

constexpr int kHidden = kPublishedHeadHidden;
constexpr int kWarps = 16;
constexpr int kThreads = kWarps * kWarpSize;
constexpr int kRows = 4;                      // Rows of lanes share 32 shards,
constexpr int kColumns = kWarpSize / kRows;   // columns of lanes the hidden units.
constexpr int kShards = kTileShards / kRows;  // Shards of a lane: side by side, two quads of them;
constexpr int kUnits = kHidden / kColumns;    // units column, column + 8, ...
static_assert(kShards == 8 && kUnits == 8);

struct GemmMemory {
  // Quads of a column's units: the first four, then those 32 further on.
  float4 weight[kSumWidth][2][kColumns];
  float4 bias[2][kColumns];
  float4 output_weight[2][kColumns];
  // [input][four shards ^ input / 4]: lanes that write other inputs reach other banks.
  float4 sums[kWarps][kSumWidth][kTileShards / 4];
};

__device__ void load_weights(const MlpView& head, GemmMemory& memory) {
  const LayerView hidden = head.layers[0];
  const LayerView output = head.layers[1];
  const auto place = [](float4(&quads)[2][kColumns], int unit) -> float& {
    const int k = unit / kColumns;
    return reinterpret_cast<float*>(&quads[k / 4][unit % kColumns])[k % 4];
  };
  for (int i = static_cast<int>(threadIdx.x); i < kSumWidth * kHidden; i += kThreads) {
    const int input = i / kHidden;
    const int unit = i % kHidden;
    place(memory.weight[input], unit) = hidden.weight[(input / 4 * kHidden + unit) * 4 + input % 4];
  }
  for (int unit = static_cast<int>(threadIdx.x); unit < kHidden; unit += kThreads) {
    place(memory.bias, unit) = hidden.bias[unit];
    place(memory.output_weight, unit) = output.weight[unit];
  }
}

// A lane's part of the hidden layer.
using Units = float[kShards][kUnits];

// Takes four inputs. `start`: units start at their biases.
template <bool kStart>
__device__ void multiply_add(Units& units, const GemmMemory& memory, const float4* sums, int quad,
                             int row, int column) {
  const float4* left = sums + 4 * quad * (kTileShards / 4) + ((2 * row) ^ quad);
  const float4* right = sums + 4 * quad * (kTileShards / 4) + ((2 * row + 1) ^ quad);
  const float4* weight = &memory.weight[4 * quad][0][column];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float4 x[2] = {left[i * (kTileShards / 4)], right[i * (kTileShards / 4)]};
    const float4 w[2] = {weight[i * 2 * kColumns], weight[i * 2 * kColumns + kColumns]};
#pragma unroll
    for (int s = 0; s < kShards; ++s) {
#pragma unroll
      for (int u = 0; u < kUnits; ++u) {
        const float before = kStart && i == 0 ? at(memory.bias[u / 4][column], u % 4) : units[s][u];
        units[s][u] = __fmaf_rn(at(w[u / 4], u % 4), at(x[s / 4], s % 4), before);
      }
    }
  }
}

// Large batches. A warp takes tiles of 32 shards: their sums, left in shared memory, are multiplied
// with the weights as a product of matrices, 8 shards by 8 hidden units a lane, so that 64 bytes of
// operands serve 64 FMA. Hidden units l and l + 32 are of one lane, and so are l and l + 8: most of
// the butterfly (docs/arithmetic.md, rule 3) needs no shuffle. Per shard 2,112 FMA and 512
// additions for 16 tables, bound by issue: 109 instructions of a warp; and 2 KB of embeddings
// and 1.2 KB of operands from shared memory. Four warps a scheduler, each at its own pace, cover
// one's loads with another's FMA.
template <bool kRowsInShared>
__global__ void __launch_bounds__(kThreads, 1)
    score_shards_gemm_kernel(const ScoreArgs args, int ids) {
  auto& memory = *reinterpret_cast<GemmMemory*>(dynamic_shared_memory());
  const ShardGather<kRowsInShared> gather(args, dynamic_shared_memory() + sizeof(GemmMemory), ids);
  int first = first_of_warp();
  IdRange mine = ids_of_lane(args, first);
  gather.fetch_ids(mine);
  load_weights(args.head, memory);
  const float output_bias = args.head.layers[1].bias[0];
  __pipeline_wait_prior(0);
  __syncthreads();

  float4(&sums)[kSumWidth][kTileShards / 4] = memory.sums[warp_index()];
  // A load of 16 bytes takes half as long if each lane reads the same as lane ^ 1 or lane ^ 2.
  const int row = lane_index() % 2 + lane_index() / 16 * 2;
  const int column = lane_index() / 2 % kColumns;
  const int stride = static_cast<int>(gridDim.x) * kWarps * kTileShards;
  for (; first < args.shards; first += stride) {
    const IdRange next = ids_of_lane(args, first + stride);
    LaneSums gathered;
    gather.add_up(mine, gathered);
    const int four = lane_index() / kGatherLanes;
#pragma unroll
    for (int k = 0; k < kGatherQuads; ++k) {
      const int quad = lane_index() % kGatherLanes * kGatherQuads + k;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        sums[4 * quad + i][four ^ quad] = make_float4(at(gathered[0][k], i), at(gathered[1][k], i),
                                                      at(gathered[2][k], i), at(gathered[3][k], i));
      }
    }
    __syncwarp();
    mine = next;
    gather.fetch_ids(mine);

    Units units;
    multiply_add<true>(units, memory, &sums[0][0], 0, row, column);
#pragma unroll 1
    for (int quad = 1; quad < kSumQuads; ++quad) {
      multiply_add<false>(units, memory, &sums[0][0], quad, row, column);
    }

    const float4 low = memory.output_weight[0][column];
    const float4 high = memory.output_weight[1][column];
    float total[kShards];
#pragma unroll
    for (int s = 0; s < kShards; ++s) {
      float partial[4];
#pragma unroll
      for (int u = 0; u < 4; ++u) {
        partial[u] = __fmaf_rn(at(high, u), rectified(units[s][u + 4]),
                               __fmaf_rn(at(low, u), rectified(units[s][u]), 0.0F));
      }
      total[s] = (partial[0] + partial[2]) + (partial[1] + partial[3]);
    }
    // The rest of the butterfly: distances 4, 2, 1 of units are 8, 4, 2 of lanes. A lane keeps half
    // of its shards at each, and gives the sums of the others away.
#pragma unroll
    for (int kept = kShards / 2; kept > 0; kept /= 2) {
      const bool upper = (column & kept) != 0;
#pragma unroll
      for (int s = 0; s < kept; ++s) {
        const float given = upper ? total[s] : total[s + kept];
        total[s] =
            (upper ? total[s + kept] : total[s]) + __shfl_xor_sync(kAllLanes, given, 2 * kept);
      }
    }
    const int shard = first + row * kShards + column;
    if (shard < args.shards) args.cost_ms[shard] = total[0] + output_bias;
  }
}

static_assert(sizeof(GemmMemory) + least_gather_bytes(kWarps) <= kLargeBatchSharedBytes);

}  // namespace

bool is_large_batch(const ScoreArgs& args, int multiprocessors, std::size_t max_shared_bytes) {
  // Measured on an H100 with 132 multiprocessors, shards of 16 and of 4 pieces: 16,384 take this
  // kernel 13.0 and 10.8 us and a warp a shard 22.6 and 15.4 us, 4,096 take it 12.2 and 10.4 us, or
  // 12.7 and 9.4.
  constexpr int kShardsOfMultiprocessor = 48;
  return fits_registers(args.head, args.width) && max_shared_bytes >= kLargeBatchSharedBytes &&
         args.shards >= multiprocessors * kShardsOfMultiprocessor;
}

void score_shards_gemm(const ScoreArgs& args, int multiprocessors, std::size_t max_shared_bytes,
                       cudaStream_t stream) {
  launch_on_tiles(score_shards_gemm_kernel<true>, score_shards_gemm_kernel<false>, args, kWarps,
                  sizeof(GemmMemory), multiprocessors, max_shared_bytes, stream);
}

void prepare_score_shards_gemm(std::size_t max_shared_bytes) {
  allow_shared_memory(score_shards_gemm_kernel<true>, max_shared_bytes);
  allow_shared_memory(score_shards_gemm_kernel<false>, max_shared_bytes);
}

}  // namespace neuroshard::gpu
