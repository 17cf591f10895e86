#pragma once

// Stands in for NVIDIA's header when kernels are executed on the CPU (cuda_host/host_cuda.h): the
// part of CUDA that the library uses, under the names that CUDA gives it.

#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "cuda_host/block_executor.h"
#include "cuda_host/left_out.h"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __noinline__
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(bytes) alignas(bytes)

struct dim3 {
  unsigned x = 1;
  unsigned y = 1;
  unsigned z = 1;
  dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) int4 {
  int x, y, z, w;
};
struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }

#define threadIdx (::host_cuda::this_thread().thread)
#define blockIdx (::host_cuda::this_thread().block)
#define blockDim (::host_cuda::this_thread().block_size)
#define gridDim (::host_cuda::this_thread().grid_size)

// ---- what kernels call ----

namespace host_cuda {

// Shuffles move 4 or 8 bytes of any type.
template <typename T>
std::uint64_t to_bits(T value) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8);
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  return bits;
}
template <typename T>
T from_bits(std::uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

}  // namespace host_cuda

// Functions that order threads know where they are called: a test may leave them out.
inline void __syncthreads(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  if (!host_cuda::left_out(file, line)) host_cuda::block_barrier();
}
inline void __threadfence(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  if (!host_cuda::left_out(file, line)) host_cuda::thread_fence();
}
inline void __nanosleep(unsigned /*ns*/) { host_cuda::let_others_run(); }
inline void __syncwarp(unsigned mask = 0xFFFFFFFFU, const char* file = __builtin_FILE(),
                       int line = __builtin_LINE()) {
  if (host_cuda::left_out(file, line)) return;
  host_cuda::warp_collective(host_cuda::WarpOp::kSync, mask, 0);
}
// `width`: lanes of a group, a power of two; `lane` counts within it.
template <typename T>
T __shfl_sync(unsigned mask, T value, int lane, int width = 32) {
  if (lane < 0 || lane >= width) {
    host_cuda::kernel_fault("__shfl_sync reads a lane outside its mask or group");
  }
  const unsigned group = host_cuda::this_thread().lane / static_cast<unsigned>(width);
  const unsigned source = group * static_cast<unsigned>(width) + static_cast<unsigned>(lane);
  return host_cuda::from_bits<T>(host_cuda::warp_collective(host_cuda::WarpOp::kShuffle, mask,
                                                            host_cuda::to_bits(value), source));
}
template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int distance) {
  return __shfl_sync(mask, value, static_cast<int>(host_cuda::this_thread().lane) ^ distance);
}
inline unsigned __ballot_sync(unsigned mask, int predicate) {
  return static_cast<unsigned>(
      host_cuda::warp_collective(host_cuda::WarpOp::kBallot, mask, predicate != 0 ? 1 : 0));
}
inline unsigned __reduce_min_sync(unsigned mask, unsigned value) {
  return static_cast<unsigned>(
      host_cuda::warp_collective(host_cuda::WarpOp::kReduceMin, mask, value));
}
inline unsigned __reduce_max_sync(unsigned mask, unsigned value) {
  return static_cast<unsigned>(
      host_cuda::warp_collective(host_cuda::WarpOp::kReduceMax, mask, value));
}
inline unsigned __reduce_add_sync(unsigned mask, unsigned value) {
  return static_cast<unsigned>(
      host_cuda::warp_collective(host_cuda::WarpOp::kReduceAdd, mask, value));
}

template <typename T>
T __ldg(const T* address) {
  return *address;
}
// One CUDA thread runs at a time.
template <typename T>
T atomicAdd(T* address, T value, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  std::optional<host_cuda::AtomicOperation> atomic;
  if (!host_cuda::left_out(file, line)) atomic.emplace();
  return std::exchange(*address, static_cast<T>(*address + value));
}
inline unsigned atomicCAS(unsigned* address, unsigned expected, unsigned value,
                          const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  std::optional<host_cuda::AtomicOperation> atomic;
  if (!host_cuda::left_out(file, line)) atomic.emplace();
  return std::exchange(*address, *address == expected ? value : *address);
}

inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
inline float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
inline long long __double_as_longlong(double x) { return std::bit_cast<long long>(x); }
inline double __longlong_as_double(long long x) { return std::bit_cast<double>(x); }
inline int __ffs(unsigned x) { return x == 0 ? 0 : std::countr_zero(x) + 1; }
inline int min(int a, int b) { return a < b ? a : b; }
inline int max(int a, int b) { return a < b ? b : a; }
inline unsigned min(unsigned a, unsigned b) { return a < b ? a : b; }
inline unsigned max(unsigned a, unsigned b) { return a < b ? b : a; }
inline int __popc(unsigned x) { return std::popcount(x); }
// Nanoseconds in place of cycles.
inline long long clock64() {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}
// Addresses in shared memory count from its beginning.
inline std::size_t __cvta_generic_to_shared(const void* address) {
  return static_cast<std::size_t>(static_cast<const std::byte*>(address) -
                                  host_cuda::this_thread().shared);
}
inline void* __cvta_shared_to_generic(std::size_t address) {
  return host_cuda::this_thread().shared + address;
}
inline long long __double2ll_rn(double x) { return std::llrint(x); }

// ---- the runtime ----

enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInitializationError = 3,
  cudaErrorInvalidConfiguration = 9,
  cudaErrorInsufficientDriver = 35,
  cudaErrorNoDevice = 100,
  cudaErrorInvalidDevice = 101,
  cudaErrorNoKernelImageForDevice = 209,
  cudaErrorIllegalAddress = 700,
  cudaErrorLaunchOutOfResources = 701,
  cudaErrorLaunchFailure = 719,
};

enum cudaMemcpyKind {
  cudaMemcpyHostToDevice = 1,
  cudaMemcpyDeviceToHost = 2,
  cudaMemcpyDeviceToDevice = 3,
};
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };
enum cudaDeviceAttr {
  cudaDevAttrMultiProcessorCount = 16,
  cudaDevAttrL2CacheSize = 38,
  cudaDevAttrComputeCapabilityMajor = 75,
  cudaDevAttrComputeCapabilityMinor = 76,
  cudaDevAttrMaxSharedMemoryPerBlockOptin = 97,
};
inline constexpr unsigned cudaStreamNonBlocking = 1;
inline constexpr unsigned cudaHostAllocPortable = 1;
inline constexpr unsigned cudaHostAllocMapped = 2;

#define CUDART_VERSION 13000
enum cudaDriverEntryPointQueryResult { cudaDriverEntryPointSuccess = 0 };
inline constexpr unsigned long long cudaEnableDefault = 0;

struct CUstream_st;
using cudaStream_t = CUstream_st*;
struct CUevent_st;
using cudaEvent_t = CUevent_st*;

struct cudaDeviceProp {
  char name[256];
  std::size_t totalGlobalMem;
  int major;
  int minor;
  int multiProcessorCount;
};

cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device);
cudaError_t cudaGetDevice(int* device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaDriverGetVersion(int* version);
cudaError_t cudaRuntimeGetVersion(int* version);
cudaError_t cudaGetLastError();
const char* cudaGetErrorString(cudaError_t error);
const char* cudaGetErrorName(cudaError_t error);
cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned version,
                                             unsigned long long flags,
                                             cudaDriverEntryPointQueryResult* found);

cudaError_t cudaMalloc(void** pointer, std::size_t bytes);
cudaError_t cudaFree(void* pointer);
cudaError_t cudaHostAlloc(void** pointer, std::size_t bytes, unsigned flags);
cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned flags);
cudaError_t cudaFreeHost(void* pointer);
cudaError_t cudaMemGetInfo(std::size_t* free_bytes, std::size_t* total_bytes);

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream);
cudaError_t cudaMemsetAsync(void* memory, int value, std::size_t bytes, cudaStream_t stream);

// Events take the time of the CPU.
cudaError_t cudaEventCreate(cudaEvent_t* event);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t start, cudaEvent_t end);

namespace host_cuda {

/// Work of the host's own behind what is on the stream, in place of a library's kernels.
cudaError_t enqueue_work(cudaStream_t stream, std::function<void()> work);

cudaError_t enqueue_launch(dim3 grid, dim3 block, std::size_t shared_bytes, cudaStream_t stream,
                           std::function<void()> kernel);

}  // namespace host_cuda

template <typename... Parameters>
cudaError_t cudaLaunchKernel(void (*kernel)(Parameters...), dim3 grid, dim3 block, void** arguments,
                             std::size_t shared_bytes, cudaStream_t stream) {
  // CUDA copies the arguments at the launch; they may be gone when the kernel runs.
  auto copies = [&]<std::size_t... I>(std::index_sequence<I...>) {
    return std::tuple<Parameters...>(*static_cast<Parameters*>(arguments[I])...);
  }
  (std::index_sequence_for<Parameters...>{});
  return host_cuda::enqueue_launch(grid, block, shared_bytes, stream,
                                   [kernel, copies] { std::apply(kernel, copies); });
}

template <typename Kernel>
cudaError_t cudaFuncSetAttribute(Kernel* /*kernel*/, cudaFuncAttribute /*attribute*/,
                                 int /*value*/) {
  return cudaSuccess;
}
