#include <algorithm>

#include "cuda/device/launch.h"
#include "cuda/networks/comm_costs.h"
#include "cuda/networks/comm_network.cuh"

namespace neuroshard::gpu {
namespace {

constexpr int kThreads = 256;

// A slice of the placements a block (comm_network.cuh). 11,328 FMA a placement for the published
// backward network of 4 devices: bound by fp32 issue once the weights (45 KB) are in shared memory.
__global__ void __launch_bounds__(kThreads) comm_costs_kernel(const CommArgs args) {
  const CommTile tile =
      comm_tile(dynamic_shared_memory(), args.network.mlp.width, args.tile_rows, args.weight_bytes);
  const int first = static_cast<int>(blockIdx.x) * args.placements_per_block;
  const int count = min(args.placements_per_block, args.placements - first);
  const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(first) * args.devices;
  comm_network(args.network, args.devices, args.log2_devices, args.dim_sums + at,
               args.start_offsets_ms == nullptr ? nullptr : args.start_offsets_ms + at, count, tile,
               args.cost_ms + at);
}

}  // namespace

int comm_tile_rows(int width, std::size_t bytes) {
  return static_cast<int>(std::min<std::size_t>(kMaxTileRows, bytes / comm_tile_bytes(width, 1)));
}

void comm_costs(const CommArgs& args, int multiprocessors, std::size_t max_shared_bytes,
                cudaStream_t stream) {
  require_shared_memory("a row of the communication network",
                        comm_tile_bytes(args.network.mlp.width, 1), max_shared_bytes);
  CommArgs shaped = args;
  shaped.placements_per_block =
      std::clamp((args.placements + multiprocessors - 1) / multiprocessors, 1, kMaxTileRows);
  shaped.tile_rows = comm_tile_rows(args.network.mlp.width, max_shared_bytes);
  // Two blocks a multiprocessor, or without a copy of the weights more.
  const int weights = args.network.mlp.bytes;
  // CUDA keeps 1 KiB of each for itself.
  if (comm_bytes(args.network.mlp.width, shaped.tile_rows, weights) <=
      (max_shared_bytes - 1024) / 2) {
    shaped.weight_bytes = weights;
  }
  const auto blocks = static_cast<unsigned>((args.placements + shaped.placements_per_block - 1) /
                                            shaped.placements_per_block);
  launch(
      comm_costs_kernel,
      {blocks, kThreads, comm_bytes(args.network.mlp.width, shaped.tile_rows, shaped.weight_bytes)},
      stream, shaped);
}

void prepare_comm_costs(std::size_t max_shared_bytes) {
  allow_shared_memory(comm_costs_kernel, max_shared_bytes);
}

}  // namespace neuroshard::gpu
