#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace neuroshard::gpu {

inline constexpr int kWarpSize = 32;
inline constexpr unsigned kAllLanes = 0xFFFFFFFFU;

// Divided as unsigned numbers: the compiler then knows that a lane is not negative.
__device__ inline int lane_index() { return static_cast<int>(threadIdx.x % 32U); }
__device__ inline int warp_index() { return static_cast<int>(threadIdx.x / 32U); }
__device__ inline int warps_in_block() { return static_cast<int>(blockDim.x / 32U); }

/// Reads through the cache for data that no kernel writes while it runs.
template <typename T>
__device__ inline T read_only(const T* address) {
  return __ldg(address);
}

/// The shared memory of the block, all of it asked for at the launch.
#ifdef __CUDACC__
__device__ inline std::byte* dynamic_shared_memory() {
  extern __shared__ __align__(16) std::byte shared_memory[];
  return shared_memory;
}
#else
inline std::byte* dynamic_shared_memory() { return host_cuda::this_thread().shared; }
#endif

/// Tells the compiler what it does not know of an address that was read from memory: that it is in
/// device memory. Atomics then need no way for shared memory.
#ifdef __CUDACC__
template <typename T>
__device__ inline T* in_device_memory(T* address) {
  __builtin_assume(__isGlobal(address));
  return address;
}

/// `address`, which the compiler is to keep in registers: where its parts are at hand, it would add
/// them up anew in each step of a loop.
template <typename T>
__device__ inline T* added_up(T* address) {
  asm volatile("" : "+l"(address));
  return address;
}
#else
template <typename T>
inline T* in_device_memory(T* address) {
  return address;
}
template <typename T>
inline T* added_up(T* address) {
  return address;
}
#endif

__device__ inline float rectified(float x) { return x > 0.0F ? x : 0.0F; }

/// Sum over the lanes, in every lane, in the order of docs/arithmetic.md, rule 3: lane l of the
/// lower half adds lane l + distance. The upper half computes the same sums the other way round.
/// Two distances at a time, of three shuffles that do not wait for each other.
__device__ inline float butterfly_sum(float partial) {
#pragma unroll
  for (int distance = kWarpSize / 2; distance > 1; distance /= 4) {
    const float far = __shfl_xor_sync(kAllLanes, partial, distance);
    const float near = __shfl_xor_sync(kAllLanes, partial, distance / 2);
    const float both = __shfl_xor_sync(kAllLanes, partial, distance + distance / 2);
    partial = (partial + far) + (near + both);
  }
  return partial + __shfl_xor_sync(kAllLanes, partial, 1);
}

/// Unsigned numbers in the order of numbers that are not NaN; -0 comes before 0.
__device__ inline std::uint64_t order_of(double x) {
  const auto bits = static_cast<std::uint64_t>(__double_as_longlong(x));
  return bits >> 63 != 0 ? ~bits : bits | std::uint64_t{1} << 63;
}

/// The number of which order_of() has made another.
__device__ inline double number_of(std::uint64_t order) {
  const std::uint64_t bits = order >> 63 != 0 ? order & ~(std::uint64_t{1} << 63) : ~order;
  return __longlong_as_double(static_cast<long long>(bits));
}

/// The lowest of all lanes, in every lane: two instructions, for either half, where shuffles would
/// take ten.
__device__ inline std::uint64_t warp_min(std::uint64_t x) {
  const auto high = static_cast<unsigned>(x >> 32);
  const unsigned lowest = __reduce_min_sync(kAllLanes, high);
  const auto low = high == lowest ? static_cast<unsigned>(x) : 0xFFFFFFFFU;
  return static_cast<std::uint64_t>(lowest) << 32 | __reduce_min_sync(kAllLanes, low);
}

/// Numbers must not be NaN.
__device__ inline double warp_min(double x) { return number_of(warp_min(order_of(x))); }
__device__ inline double warp_max(double x) { return number_of(~warp_min(~order_of(x))); }

__device__ inline std::int64_t warp_sum(std::int64_t x) {
#pragma unroll
  for (int distance = kWarpSize / 2; distance > 0; distance /= 2) {
    x += __shfl_xor_sync(kAllLanes, x, distance);
  }
  return x;
}

/// No device: sorts behind every cost.
inline constexpr unsigned kNoCost = 0xFFFFFFFFU;

/// Unsigned numbers in the order of costs; equal for -0 and 0. kNoCost for NaN and either infinity:
/// such a device is never chosen.
__device__ inline unsigned ordered_key(float cost) {
  const unsigned bits = __float_as_uint(cost + 0.0F);
  // All bits of a negative number are turned over, of another the sign.
  const unsigned turned = static_cast<unsigned>(static_cast<int>(bits) >> 31) | 0x80000000U;
  return fabsf(cost) < __uint_as_float(0x7F800000U) ? bits ^ turned : kNoCost;
}

/// The cost of which ordered_key() has made a key, but that 0 is never -0; infinite of kNoCost.
__device__ inline float cost_of_key(unsigned key) {
  const unsigned turned = ~static_cast<unsigned>(static_cast<int>(key) >> 31) | 0x80000000U;
  return __uint_as_float(key == kNoCost ? 0x7F800000U : key ^ turned);
}

/// The lane with the lowest (key, memory, device), in every lane; -1 if all keys are kNoCost.
__device__ inline int lowest_lane(unsigned key, std::int64_t memory, int device) {
  const unsigned lowest = __reduce_min_sync(kAllLanes, key);
  if (lowest == kNoCost) return -1;
  bool in = key == lowest;
  unsigned tied = __ballot_sync(kAllLanes, in);
  if ((tied & (tied - 1)) != 0) {
    // Memory is never negative, so its halves compare as unsigned numbers.
    const auto high = static_cast<unsigned>(static_cast<std::uint64_t>(memory) >> 32);
    const auto low = static_cast<unsigned>(memory);
    // Every lane takes part in every step, also those that are out already.
    const unsigned lowest_high = __reduce_min_sync(kAllLanes, in ? high : 0xFFFFFFFFU);
    in = in && high == lowest_high;
    const unsigned lowest_low = __reduce_min_sync(kAllLanes, in ? low : 0xFFFFFFFFU);
    in = in && low == lowest_low;
    const auto index = static_cast<unsigned>(device);
    const unsigned lowest_index = __reduce_min_sync(kAllLanes, in ? index : 0xFFFFFFFFU);
    in = in && index == lowest_index;
    tied = __ballot_sync(kAllLanes, in);
  }
  return __ffs(tied) - 1;
}

}  // namespace neuroshard::gpu
