#pragma once

#include "cuda/placement_layout.h"
#include "cuda/warp.cuh"

namespace neuroshard::gpu {

/// What greedy placement knows of the devices of one run: cost, memory and dim sum of each. Owned
/// by one warp; all lanes call every function. (The sums of embeddings are kept apart.)
///
/// What one lane writes and another reads may be in shared memory. A __syncwarp must lie between
/// choose() or for_each() and the next reset(), load() or place(), as the steps of a placement have
/// it anyway; all else these classes see to.

struct DeviceChoice {
  int device;           ///< -1: nothing fits.
  bool within_tighter;  ///< The device also has room under the tighter limit.
};

/// Room that a piece leaves: a device may be chosen if its memory and dim sum are at most these.
struct Room {
  std::int64_t memory;
  int dim_sum;
  int tighter_dim_sum;  ///< At most dim_sum.
};

static_assert(kMaxLaneDevices == kWarpSize);
static_assert(kDeviceStateBytes == sizeof(std::int64_t) + sizeof(float) + sizeof(int));

/// Device d in registers of lane d: up to 32 devices.
class LaneDevices {
 public:
  __device__ LaneDevices(int devices, std::byte* /*shared*/) : devices_(devices) {}

  __device__ void reset() {
    cost_ms_ = 0.0F;
    memory_ = 0;
    dim_sum_ = 0;
    key_ = lane_index() < devices_ ? ordered_key(0.0F) : kNoCost;
  }

  __device__ DeviceChoice choose(const Room& room) const {
    const bool fits = memory_ <= room.memory && dim_sum_ <= room.dim_sum;
    // Asked before the device is known, so that the answer does not lengthen the chain of steps.
    const unsigned tighter = __ballot_sync(kAllLanes, dim_sum_ <= room.tighter_dim_sum);
    const int device = lowest_lane(fits ? key_ : kNoCost, memory_, lane_index());
    return {device, device >= 0 && (tighter >> device & 1U) != 0};
  }

  __device__ int dim_sum_of(int device) const { return __shfl_sync(kAllLanes, dim_sum_, device); }

  __device__ void place(int device, std::int64_t size, int dim, float cost_ms) {
    // Selected, not branched over: the lanes stay together.
    const unsigned key = ordered_key(cost_ms);
    const bool mine = lane_index() == device;
    memory_ += mine ? size : 0;
    dim_sum_ += mine ? dim : 0;
    cost_ms_ = mine ? cost_ms : cost_ms_;
    key_ = mine ? key : key_;
  }

  /// Calls visit(device, cost_ms, dim_sum) for each device, spread over the lanes.
  template <typename Visit>
  __device__ void for_each(const Visit& visit) const {
    if (lane_index() < devices_) visit(lane_index(), cost_ms_, dim_sum_);
  }

  /// `memory`: kDeviceStateBytes * devices.
  __device__ void save(std::byte* memory) const {
    if (lane_index() >= devices_) return;
    reinterpret_cast<std::int64_t*>(memory)[lane_index()] = memory_;
    auto* rest = reinterpret_cast<float*>(memory + sizeof(std::int64_t) * devices_);
    rest[lane_index()] = cost_ms_;
    reinterpret_cast<int*>(rest)[devices_ + lane_index()] = dim_sum_;
  }
  __device__ void load(std::byte* memory) {
    if (lane_index() >= devices_) return;
    memory_ = reinterpret_cast<const std::int64_t*>(memory)[lane_index()];
    const auto* rest = reinterpret_cast<const float*>(memory + sizeof(std::int64_t) * devices_);
    cost_ms_ = rest[lane_index()];
    dim_sum_ = reinterpret_cast<const int*>(rest)[devices_ + lane_index()];
    key_ = ordered_key(cost_ms_);
  }

 private:
  int devices_;
  float cost_ms_ = 0.0F;
  unsigned key_ = kNoCost;
  int dim_sum_ = 0;
  std::int64_t memory_ = 0;
};

/// Any number of devices, in shared memory; each lane looks through every 32nd.
class SharedDevices {
 public:
  __device__ SharedDevices(int devices, std::byte* shared)
      : devices_(devices),
        memory_(reinterpret_cast<std::int64_t*>(shared)),
        cost_ms_(reinterpret_cast<float*>(shared + sizeof(std::int64_t) * devices)),
        dim_sum_(reinterpret_cast<int*>(cost_ms_ + devices)) {}

  __device__ void reset() {
    for (int d = lane_index(); d < devices_; d += kWarpSize) {
      memory_[d] = 0;
      cost_ms_[d] = 0.0F;
      dim_sum_[d] = 0;
    }
    __syncwarp();
  }

  __device__ DeviceChoice choose(const Room& room) const {
    unsigned key = kNoCost;
    std::int64_t memory = 0;
    int device = 0;
    for (int d = lane_index(); d < devices_; d += kWarpSize) {
      if (memory_[d] > room.memory || dim_sum_[d] > room.dim_sum) continue;
      const unsigned other = ordered_key(cost_ms_[d]);
      if (other < key || (other == key && other != kNoCost && memory_[d] < memory)) {
        key = other;
        memory = memory_[d];
        device = d;
      }
    }
    const int lane = lowest_lane(key, memory, device);
    if (lane < 0) return {-1, false};
    device = __shfl_sync(kAllLanes, device, lane);
    return {device, dim_sum_[device] <= room.tighter_dim_sum};
  }

  __device__ int dim_sum_of(int device) const { return dim_sum_[device]; }

  __device__ void place(int device, std::int64_t size, int dim, float cost_ms) {
    if (lane_index() == 0) {
      memory_[device] += size;
      dim_sum_[device] += dim;
      cost_ms_[device] = cost_ms;
    }
    __syncwarp();
  }

  template <typename Visit>
  __device__ void for_each(const Visit& visit) const {
    for (int d = lane_index(); d < devices_; d += kWarpSize) visit(d, cost_ms_[d], dim_sum_[d]);
  }

  __device__ void save(std::byte* memory) const { copy(*this, SharedDevices(devices_, memory)); }
  __device__ void load(std::byte* memory) {
    copy(SharedDevices(devices_, memory), *this);
    __syncwarp();
  }

 private:
  // A saved state is written and read by the same lanes.
  __device__ static void copy(const SharedDevices& from, const SharedDevices& to) {
    for (int d = lane_index(); d < from.devices_; d += kWarpSize) {
      to.memory_[d] = from.memory_[d];
      to.cost_ms_[d] = from.cost_ms_[d];
      to.dim_sum_[d] = from.dim_sum_[d];
    }
  }

  int devices_;
  std::int64_t* memory_;
  float* cost_ms_;
  int* dim_sum_;
};

}  // namespace neuroshard::gpu
