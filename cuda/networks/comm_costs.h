#pragma once

#include <cuda_runtime.h>

#include "cuda/networks/network_view.h"

namespace neuroshard::gpu {

struct CommArgs {
  CommNetworkView network;
  int devices = 0;
  float log2_devices = 0.0F;
  const float* dim_sums = nullptr;          ///< [placements, devices]
  const float* start_offsets_ms = nullptr;  ///< [placements, devices]; null in the backward pass.
  float* cost_ms = nullptr;                 ///< [placements, devices]
  int placements = 0;
  int placements_per_block = 0;
  int tile_rows = 0;
  int weight_bytes = 0;  ///< Shared memory for a copy of the weights.
};

/// Rows of a tile of the networks, as many as `bytes` of shared memory hold but no more than are of
/// use; 0 if there is not room for one.
[[nodiscard]] int comm_tile_rows(int width, std::size_t bytes);

/// One communication network for a batch of placements. Throws Error (kBackend) if the network is
/// too wide for shared memory.
void comm_costs(const CommArgs& args, int multiprocessors, std::size_t max_shared_bytes,
                cudaStream_t stream);
void prepare_comm_costs(std::size_t max_shared_bytes);

}  // namespace neuroshard::gpu
