#pragma once

#include "core/models/cost_range.h"
#include "core/models/seen_offsets.h"
#include "cuda/networks/block_mlp.cuh"

namespace neuroshard::gpu {

/// Shared memory of comm_network.
struct CommTile {
  float* tiles;          ///< Two, each of rows * stride floats.
  SharedInputs* shared;  ///< One per row of the tile, at most.
  int stride;
  int rows;
  int weight_bytes;

  /// Where there is room for `weight_bytes` bytes, behind the rest: an offset in shared memory.
  [[nodiscard]] __device__ int weights() const {
    return static_cast<int>(reinterpret_cast<std::byte*>(shared + rows) - dynamic_shared_memory());
  }
};

/// `memory`: comm_bytes(width, rows, weight_bytes) bytes.
__device__ inline CommTile comm_tile(std::byte* memory, int width, int rows, int weight_bytes) {
  const int stride = tile_stride(width);
  auto* floats = reinterpret_cast<float*>(memory);
  return {floats, reinterpret_cast<SharedInputs*>(floats + 2 * rows * stride), stride, rows,
          weight_bytes};
}

/// By one warp.
__device__ inline SharedInputs shared_inputs(const float* dim_sums, const float* start_offsets_ms,
                                             int devices) {
  std::int64_t dim_total = 0;
  std::int64_t offset_total = 0;
  double max_dim = dim_sums[0];
  double min_dim = max_dim;
  double max_offset = 0.0;
#pragma unroll 1
  for (int d = lane_index(); d < devices; d += kWarpSize) {
    const double dim = dim_sums[d];
    dim_total += static_cast<std::int64_t>(dim);
    max_dim = max_dim < dim ? dim : max_dim;
    min_dim = dim < min_dim ? dim : min_dim;
    if (start_offsets_ms == nullptr) continue;
    const double offset = start_offsets_ms[d];
    // NaN counts as 0.
    const double bounded = offset > 0.0 ? (offset > kMaxCostMs ? kMaxCostMs : offset) : 0.0;
    offset_total += __double2ll_rn(bounded * kOffsetUnitsPerMs);
    max_offset = max_offset < offset ? offset : max_offset;
  }
  const double count = devices;
  SharedInputs shared{};
  shared.mean_dim_sum = static_cast<float>(static_cast<double>(warp_sum(dim_total)) / count);
  shared.max_dim_sum = static_cast<float>(warp_max(max_dim));
  shared.min_dim_sum = static_cast<float>(warp_min(min_dim));
  shared.mean_offset =
      static_cast<float>(static_cast<double>(warp_sum(offset_total)) / kOffsetUnitsPerMs / count);
  shared.max_offset = static_cast<float>(warp_max(max_offset));
  return shared;
}

/// The latest start of a placement's devices, by one warp, in every lane; 0 without offsets.
__device__ inline float last_offset(const float* start_offsets_ms, int devices) {
  if (start_offsets_ms == nullptr) return 0.0F;
  double last = 0.0;
#pragma unroll 1
  for (int d = lane_index(); d < devices; d += kWarpSize) {
    const double offset = start_offsets_ms[d];
    last = last < offset ? offset : last;
  }
  return static_cast<float>(warp_max(last));
}

/// `share`: of start offsets, as core/models/seen_offsets.h has it.
__device__ inline float symmetric_feature(int i, float dim_sum, float offset_ms,
                                          const SharedInputs& shared, float log2_devices,
                                          float share) {
  switch (i) {
    case 0:
      return dim_sum;
    case 1:
      return share * offset_ms;
    case 2:
      return shared.mean_dim_sum;
    case 3:
      return shared.max_dim_sum;
    case 4:
      return shared.min_dim_sum;
    case 5:
      return share * shared.mean_offset;
    case 6:
      return share * shared.max_offset;
    default:
      return log2_devices;
  }
}

/// Communication costs of `placements` placements, [placements, devices], by a whole block.
/// `start_offsets_ms` is null in the backward pass. A row of the network is a placement (dense) or
/// a device of one (symmetric). Starts and ends with a barrier. Reads the weights from shared
/// memory: from the offset `copy`, which start_weights_copy() was told to fill, or, without one, a
/// copy that it makes if there is room. All at once: a block that comes first to its multiprocessor
/// finds none in L1, and waits for L2 again and again if it reads them as it needs them.
__device__ inline void comm_network(const CommNetworkView& network, int devices, float log2_devices,
                                    const float* dim_sums, const float* start_offsets_ms,
                                    int placements, const CommTile& tile, float* cost_ms,
                                    int copy = kNoCopy) {
  // Held in registers: behind each barrier it would be read again.
  const MlpView mlp = network.mlp;
  const bool symmetric = network.symmetric;
  const int rows = symmetric ? placements * devices : placements;
  const int inputs = mlp.inputs;
  if (copy == kNoCopy && rows > 0 && mlp.bytes <= tile.weight_bytes) {
    copy = tile.weights();
    start_weights_copy(mlp, copy);
  }
  if (copy != kNoCopy) __pipeline_wait_prior(0);
  const int outputs = symmetric ? 1 : devices;
#pragma unroll 1
  for (int first = 0; first < rows; first += tile.rows) {
    const int count = min(tile.rows, rows - first);
    int first_placement = 0;
    __syncthreads();
    if (symmetric) {
      first_placement = first / devices;
      const int last = (first + count - 1) / devices;
      for (int p = first_placement + warp_index(); p <= last; p += warps_in_block()) {
        const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(p) * devices;
        const SharedInputs shared = shared_inputs(
            dim_sums + at, start_offsets_ms == nullptr ? nullptr : start_offsets_ms + at, devices);
        if (lane_index() == 0) tile.shared[p - first_placement] = shared;
      }
      __syncthreads();
    }
    // By the warp that has the row.
    const auto last_offset_of = [&](int row) {
      if (symmetric) return tile.shared[(first + row) / devices - first_placement].max_offset;
      return last_offset(
          start_offsets_ms == nullptr
              ? nullptr
              : start_offsets_ms + static_cast<std::ptrdiff_t>(first + row) * devices,
          devices);
    };
    const auto of_feature = [&](const float* values, int i) {
      return copy != kNoCopy ? in_copy(mlp, copy, values)[i] : read_only(values + i);
    };
    // A warp a row: an index for all rows would have to be divided.
#pragma unroll 1
    for (int row = warp_index(); row < count; row += warps_in_block()) {
      const float share = seen_share(last_offset_of(row), network.most_offset_ms);
#pragma unroll 1
      for (int i = lane_index(); i < round_to_4(inputs); i += kWarpSize) {
        float x = 0.0F;
        if (i < inputs) {
          float raw = 0.0F;
          if (symmetric) {
            const std::ptrdiff_t at = first + row;
            raw = symmetric_feature(
                i, dim_sums[at], start_offsets_ms == nullptr ? 0.0F : start_offsets_ms[at],
                tile.shared[(first + row) / devices - first_placement], log2_devices, share);
          } else {
            const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(first + row) * devices;
            raw = i < devices ? dim_sums[at + i] : share * start_offsets_ms[at + i - devices];
          }
          x = (raw - of_feature(network.features.mean, i)) / of_feature(network.features.std, i);
        }
        tile.tiles[row * tile.stride + i] = x;
      }
    }
    const float* out = nullptr;
    if (copy == kNoCopy) {
      out = tile_mlp(mlp, tile.tiles, tile.rows * tile.stride, tile.stride, count, false);
    } else if (count <= kRowsPerThread) {
      out = few_rows_mlp(mlp, copy, tile.tiles, tile.rows * tile.stride, tile.stride, count);
    } else {
      out = tile_mlp<WeightsIn::kSharedMemory>(mlp, tile.tiles, tile.rows * tile.stride,
                                               tile.stride, count, false, copy);
    }
#pragma unroll 1
    for (int row = warp_index(); row < count; row += warps_in_block()) {
      const float last = last_offset_of(row);
      const float share = seen_share(last, network.most_offset_ms);
#pragma unroll 1
      for (int i = lane_index(); i < outputs; i += kWarpSize) {
        const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(first + row) * outputs + i;
        const float cost = out[row * tile.stride + i];
        cost_ms[at] = start_offsets_ms == nullptr
                          ? cost
                          : with_unseen_wait(cost, start_offsets_ms[at], last, share);
      }
    }
  }
  __syncthreads();
}

}  // namespace neuroshard::gpu
