#include <algorithm>

#include "cuda/device/launch.h"
#include "cuda/networks/heads.cuh"
#include "cuda/networks/score_shards.h"
#include "cuda/placement/place_candidates.h"

namespace neuroshard::gpu {
namespace {

constexpr int kWarps = 8;

// A warp a shard: lane l sums elements l, l + 32, ... of the embeddings, the head sees the sum
// through shared memory. Every weight of the default head is in a register, but each cost needs 8
// broadcast reads and a butterfly, and each table a load of 4 bytes a lane: bound by issue of those
// rather than of FMA. Right for batches that do not fill the device with tiles.
template <class Head>
__global__ void __launch_bounds__(kWarps* kWarpSize) score_shards_kernel(const ScoreArgs args) {
  const int floats = args.width + Head::kScratchRows * args.head.width;
  float* sum =
      reinterpret_cast<float*>(dynamic_shared_memory()) + warp_index() * round_to_4(floats);
  const Head head(args.head, args.width, sum + args.width);
  const int warps = static_cast<int>(gridDim.x) * kWarps;
  for (int shard = static_cast<int>(blockIdx.x) * kWarps + warp_index(); shard < args.shards;
       shard += warps) {
    const std::uint32_t begin = args.offsets[shard];
    const std::uint32_t end = args.offsets[shard + 1];
    for (int i = lane_index(); i < args.width; i += kWarpSize) {
      float total = 0.0F;
#pragma unroll 4
      for (std::uint32_t k = begin; k < end; ++k) {
        const std::size_t row = static_cast<std::size_t>(read_only(args.piece_ids + k)) *
                                static_cast<std::size_t>(args.width);
        total += read_only(args.embeddings + row + i);
      }
      sum[i] = total;
    }
    __syncwarp();
    const float cost_ms = head(sum);
    if (lane_index() == 0) args.cost_ms[shard] = cost_ms;
    __syncwarp();
  }
}

}  // namespace

std::size_t score_shards_bytes(const MlpView& head, int width) {
  const int scratch = fits_registers(head, width) ? 0 : 2 * head.width;
  return kWarps * static_cast<std::size_t>(round_to_4(width + scratch)) * sizeof(float);
}

void score_shards(const ScoreArgs& args, int multiprocessors, cudaStream_t stream) {
  constexpr int kBlocksPerMultiprocessor = 2;
  const bool in_registers = fits_registers(args.head, args.width);
  const auto blocks = static_cast<unsigned>(
      std::min((args.shards + kWarps - 1) / kWarps, multiprocessors * kBlocksPerMultiprocessor));
  launch(in_registers ? score_shards_kernel<PublishedHead> : score_shards_kernel<GenericHead>,
         {blocks, kWarps * kWarpSize, score_shards_bytes(args.head, args.width)}, stream, args);
}

void prepare_score_shards(std::size_t max_shared_bytes) {
  allow_shared_memory(score_shards_kernel<PublishedHead>, max_shared_bytes);
  allow_shared_memory(score_shards_kernel<GenericHead>, max_shared_bytes);
}

}  // namespace neuroshard::gpu
