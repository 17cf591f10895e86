#pragma once

#include "cuda/device/warp.cuh"
#include "cuda/placement/placement_layout.h"

namespace neuroshard::gpu {

/// Devices of one run of greedy placement: cost, memory and dim sum of each. One warp owns them;
/// all lanes call every function. (The sums of embeddings are kept apart.)
///
/// Values that one lane writes and another reads may be in shared memory. A __syncwarp must lie
/// between choose() or for_each() and the next reset(), load() or add(), between reset() or load()
/// and choose(), and set_cost() between add() and choose(), as the steps of a placement have it
/// anyway.

struct DeviceChoice {
  int device;           ///< -1: nothing fits.
  bool within_tighter;  ///< The device also has room under the tighter limit.
};

/// Prediction of the device for the next piece before the last one's has its new cost: it is either
/// that device again or its rival, the cheapest of the others. Bounds tell which; they leave out
/// what only LaneDevices::choose() can decide: equal costs, costs that are not finite, no device at
/// all, and a device beyond the tighter limit.
struct NextChoice {
  int rival;             ///< -1: not known.
  float same_below_ms;   ///< With a cost below this it is the same device,
  float rival_above_ms;  ///< and with one above this the rival.

  [[nodiscard]] __device__ bool is_same(float cost_ms) const {
    return cost_ms < same_below_ms && cost_ms > -__uint_as_float(0x7F800000U);
  }
  [[nodiscard]] __device__ bool is_rival(float cost_ms) const { return cost_ms > rival_above_ms; }
};

__device__ inline NextChoice no_choice() {
  const float kInfinity = __uint_as_float(0x7F800000U);
  return {-1, -kInfinity, kInfinity};
}

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
  static constexpr bool kLooksAhead = true;

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

  /// After the piece that `device` has just got, whose cost is not known yet. All others' are.
  __device__ NextChoice look_ahead(int device, const Room& room) const {
    const float kInfinity = __uint_as_float(0x7F800000U);
    const bool fits = memory_ <= room.memory && dim_sum_ <= room.dim_sum;
    const bool tight = dim_sum_ <= room.tighter_dim_sum;
    const unsigned key = fits && lane_index() != device ? key_ : kNoCost;
    const unsigned lowest = __reduce_min_sync(kAllLanes, key);
    const unsigned fitting = __ballot_sync(kAllLanes, fits);
    const unsigned within = __ballot_sync(kAllLanes, fits && tight);
    const unsigned tied = __ballot_sync(kAllLanes, key == lowest);
    const float cost_ms = cost_of_key(lowest);
    const bool one = (tied & (tied - 1)) == 0 && (tied & within) != 0;
    return {one ? __ffs(tied) - 1 : -1, (within >> device & 1U) != 0 ? cost_ms : -kInfinity,
            !one                            ? kInfinity
            : (fitting >> device & 1U) != 0 ? cost_ms
                                            : -kInfinity};
  }

  __device__ int dim_sum_of(int device) const { return __shfl_sync(kAllLanes, dim_sum_, device); }

  // Selected, not branched over: the lanes stay together.
  __device__ void add(int device, std::int64_t size, int dim) {
    const bool mine = lane_index() == device;
    memory_ += mine ? size : 0;
    dim_sum_ += mine ? dim : 0;
  }
  __device__ void set_cost(int device, float cost_ms) {
    const unsigned key = ordered_key(cost_ms);
    const bool mine = lane_index() == device;
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
  /// To look through all devices takes longer than a head.
  static constexpr bool kLooksAhead = false;

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

  __device__ static NextChoice look_ahead(int /*device*/, const Room& /*room*/) {
    return no_choice();
  }

  __device__ int dim_sum_of(int device) const { return dim_sum_[device]; }

  __device__ void add(int device, std::int64_t size, int dim) {
    if (lane_index() != 0) return;
    memory_[device] += size;
    dim_sum_[device] += dim;
  }
  __device__ void set_cost(int device, float cost_ms) {
    if (lane_index() == 0) cost_ms_[device] = cost_ms;
    __syncwarp();
  }

  template <typename Visit>
  __device__ void for_each(const Visit& visit) const {
    for (int d = lane_index(); d < devices_; d += kWarpSize) visit(d, cost_ms_[d], dim_sum_[d]);
  }

  __device__ void save(std::byte* memory) const { copy(*this, SharedDevices(devices_, memory)); }
  __device__ void load(std::byte* memory) { copy(SharedDevices(devices_, memory), *this); }

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
