#pragma once

#include "core/models/cost_range.h"
#include "cuda/networks/comm_network.cuh"
#include "cuda/placement/placement_layout.h"

namespace neuroshard::gpu {

/// Finished placements of a block: arrays of [rows, devices] floats.
struct RowArrays {
  float* dim_sums;
  float* compute_ms;
  float* backward_ms;
  float* start_offsets_ms;
  float* forward_ms;
};

__device__ inline RowArrays row_arrays(float* memory, int rows, int devices) {
  const std::ptrdiff_t size = static_cast<std::ptrdiff_t>(rows) * devices;
  return {memory, memory + size, memory + 2 * size, memory + 3 * size, memory + 4 * size};
}

/// How much later than the first device each is ready, by one warp.
__device__ inline void start_offsets(const float* compute_ms, const float* backward_ms, int devices,
                                     float* offsets_ms) {
  const auto ready = [&](int d) {
    return static_cast<double>(compute_ms[d]) + static_cast<double>(backward_ms[d]);
  };
  // The lane's own is not read again, since there are hardly ever more devices than lanes.
  const double kInfinity = static_cast<double>(__uint_as_float(0x7F800000U));
  const double own = lane_index() < devices ? ready(lane_index()) : kInfinity;
  double first = own < kInfinity ? own : kInfinity;
#pragma unroll 1
  for (int d = lane_index() + kWarpSize; d < devices; d += kWarpSize) {
    first = ready(d) < first ? ready(d) : first;
  }
  first = warp_min(first);
  if (lane_index() < devices) offsets_ms[lane_index()] = static_cast<float>(own - first);
#pragma unroll 1
  for (int d = lane_index() + kWarpSize; d < devices; d += kWarpSize) {
    offsets_ms[d] = static_cast<float>(ready(d) - first);
  }
}

/// Infinite if the cost of any device is beyond kMaxCostMs or not a number. By one warp, in every
/// lane.
__device__ inline double slowest_device(const float* compute_ms, const float* backward_ms,
                                        const float* forward_ms, int devices) {
  const double kInfinity = static_cast<double>(__uint_as_float(0x7F800000U));
  double slowest = -kInfinity;
#pragma unroll 1
  for (int d = lane_index(); d < devices; d += kWarpSize) {
    const double cost = static_cast<double>(compute_ms[d]) + static_cast<double>(backward_ms[d]) +
                        static_cast<double>(forward_ms[d]);
    const double bounded = fabs(cost) <= kMaxCostMs ? cost : kInfinity;
    slowest = slowest < bounded ? bounded : slowest;
  }
  return warp_max(slowest);
}

/// Copies of the weights of both communication networks, as offsets in shared memory, made by
/// start_weights_copies() before they are needed.
struct CommCopies {
  int backward = kNoCopy;
  int forward = kNoCopy;
};

__device__ inline void start_weights_copies(const CommView& comm, const CommCopies& copies) {
  start_weights_copy(comm.backward.mlp, copies.backward);
  start_weights_copy(comm.forward.mlp, copies.forward);
}

/// Fills in the costs of `count` finished placements, by a whole block. Starts and ends with a
/// barrier.
__device__ inline void final_costs(const SessionView& session, const RowArrays& rows, int count,
                                   const CommTile& tile, const CommCopies& copies, RowTag* tags) {
  const int devices = session.devices;
  // A loop, so that the networks' code is there only once.
#pragma unroll 1
  for (int pass = 0; pass < 2; ++pass) {
    const bool forward = pass == 1;
    for (int row = warp_index(); forward && row < count; row += warps_in_block()) {
      const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(row) * devices;
      start_offsets(rows.compute_ms + at, rows.backward_ms + at, devices,
                    rows.start_offsets_ms + at);
    }
    comm_network(forward ? session.comm.forward : session.comm.backward, devices,
                 session.log2_devices, rows.dim_sums, forward ? rows.start_offsets_ms : nullptr,
                 count, tile, forward ? rows.forward_ms : rows.backward_ms,
                 forward ? copies.forward : copies.backward);
  }
  for (int row = warp_index(); row < count; row += warps_in_block()) {
    const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(row) * devices;
    const double cost_ms =
        slowest_device(rows.compute_ms + at, rows.backward_ms + at, rows.forward_ms + at, devices);
    if (lane_index() == 0) tags[row].cost_ms = cost_ms;
  }
  __syncthreads();
}

}  // namespace neuroshard::gpu
