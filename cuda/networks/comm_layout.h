#pragma once

#include <cstddef>

#include "cuda/networks/network_view.h"

namespace neuroshard::gpu {

/// Distance between rows in a tile of activations (block_mlp.cuh). Not a multiple of 32: lanes that
/// work on different rows then read different banks.
NEUROSHARD_HOST_DEVICE constexpr int tile_stride(int width) { return round_to_4(width) + 4; }

/// Rows of such a tile, at most.
inline constexpr int kMaxTileRows = 32;

/// Inputs of the symmetric network that all devices of a placement share
/// (core/models/symmetric_comm_features.h, docs/arithmetic.md rule 8).
struct SharedInputs {
  float mean_dim_sum;
  float max_dim_sum;
  float min_dim_sum;
  float mean_offset;
  float max_offset;
  float unused[3];
};

/// Shared memory of comm_network (comm_network.cuh) for tiles of `rows` rows.
NEUROSHARD_HOST_DEVICE constexpr std::size_t comm_tile_bytes(int width, int rows) {
  return static_cast<std::size_t>(rows) *
         (2 * static_cast<std::size_t>(tile_stride(width)) * sizeof(float) + sizeof(SharedInputs));
}

/// Bytes of a tile with room for the weights of a network behind it.
NEUROSHARD_HOST_DEVICE constexpr std::size_t comm_bytes(int width, int rows, int weight_bytes) {
  return comm_tile_bytes(width, rows) + static_cast<std::size_t>(weight_bytes);
}

}  // namespace neuroshard::gpu
