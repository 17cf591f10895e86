// The runtime half of the shim: devices, contexts, memory, streams, errors.
#include <cuda.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cuda_host/host_cuda.h"

struct CUctx_st {
  int device = 0;
};

struct CUevent_st {
  std::chrono::steady_clock::time_point time;
  bool recorded = false;
};

struct CUstream_st {
  int device = 0;
  std::deque<std::function<cudaError_t()>> work;
};

namespace host_cuda {
namespace {

constexpr std::align_val_t kAlign{256};

struct Device {
  cudaError_t sticky = cudaSuccess;
  int launches_until_failure = -1;
  std::size_t used_bytes = 0;
  bool has_context = false;
};

struct Allocation {
  std::size_t bytes = 0;
  int device = -1;  ///< -1: pinned host memory.
};

struct Runtime {
  std::recursive_mutex mutex;
  DeviceSettings settings;
  std::map<int, Device> devices;
  std::map<void*, Allocation> allocations;
  std::set<CUstream_st*> streams;
  bool fail_allocations = false;
  std::uint64_t launches = 0;
  std::uint64_t synchronisations = 0;
  std::uint64_t total_allocations = 0;
};

Runtime& runtime() {
  static Runtime instance;
  return instance;
}

// The device that this thread has set, or 0; and its stack of contexts, whose last is current.
thread_local int set_device = 0;
thread_local std::vector<CUcontext> contexts;

using Lock = std::lock_guard<std::recursive_mutex>;

CUcontext primary_context(int device) {
  static std::map<int, CUctx_st> all;
  return &all.try_emplace(device, CUctx_st{device}).first->second;
}

int current_device() { return contexts.empty() ? set_device : contexts.back()->device; }

// What most calls do first: they create a context on the current device if it has none.
Device& initialized_device() {
  Device& device = runtime().devices[current_device()];
  device.has_context = true;
  return device;
}

cudaError_t sticky_error() { return initialized_device().sticky; }

void* allocate(std::size_t bytes, int device) {
  // Exactly `bytes`, so that AddressSanitizer sees the end; 0xFF reads as NaN and as -1.
  void* memory = ::operator new(bytes, kAlign);
  std::memset(memory, 0xFF, bytes);
  runtime().allocations[memory] = {bytes, device};
  ++runtime().total_allocations;
  return memory;
}

// Everything that was queued. A fault leaves the rest undone, as on a device.
cudaError_t drain(CUstream_st& stream) {
  Device& device = runtime().devices[stream.device];
  while (!stream.work.empty()) {
    const auto work = std::move(stream.work.front());
    stream.work.pop_front();
    if (device.sticky != cudaSuccess) continue;
    try {
      device.sticky = work();
    } catch (const KernelFault&) {
      stream.work.clear();
      device.sticky = cudaErrorLaunchFailure;
      throw;
    }
  }
  return device.sticky;
}

void drain_all(int device) {
  for (CUstream_st* stream : runtime().streams) {
    if (stream->device == device) drain(*stream);
  }
}

}  // namespace

void reset(const DeviceSettings& settings) {
  const Lock lock(runtime().mutex);
  runtime().settings = settings;
  runtime().devices.clear();
  runtime().fail_allocations = false;
  runtime().launches = 0;
  runtime().synchronisations = 0;
  runtime().total_allocations = 0;
  set_device = 0;
  contexts.clear();
}

void set_schedule(Schedule schedule, std::uint64_t seed) {
  const Lock lock(runtime().mutex);
  runtime().settings.schedule = schedule;
  runtime().settings.seed = seed;
}

void set_resident_blocks(std::size_t blocks) {
  const Lock lock(runtime().mutex);
  runtime().settings.resident_blocks = blocks;
}

void fail_after(int launches, int device) {
  const Lock lock(runtime().mutex);
  runtime().devices[device].launches_until_failure = launches;
}

void fail_allocations(bool fail) {
  const Lock lock(runtime().mutex);
  runtime().fail_allocations = fail;
}

Usage usage() {
  const Lock lock(runtime().mutex);
  Usage usage;
  for (const auto& [memory, allocation] : runtime().allocations) {
    ++(allocation.device < 0 ? usage.host_allocations : usage.device_allocations);
  }
  usage.streams = runtime().streams.size();
  for (const auto& [number, device] : runtime().devices) {
    if (device.has_context) usage.devices_with_context.push_back(number);
  }
  usage.launches = runtime().launches;
  usage.synchronisations = runtime().synchronisations;
  usage.total_allocations = runtime().total_allocations;
  return usage;
}

cudaError_t enqueue_launch(dim3 grid, dim3 block, std::size_t shared_bytes, cudaStream_t stream,
                           std::function<void()> kernel) {
  const Lock lock(runtime().mutex);
  const DeviceSettings& settings = runtime().settings;
  if (sticky_error() != cudaSuccess) return sticky_error();
  const std::size_t threads = std::size_t{block.x} * block.y * block.z;
  if (threads == 0 || threads > 1024 || grid.x == 0 || grid.y == 0 || grid.z == 0 ||
      grid.y > 65535 || grid.z > 65535 || shared_bytes > settings.shared_bytes_per_block ||
      stream->device != current_device()) {
    return cudaErrorInvalidValue;
  }
  ++runtime().launches;
  Device& device = initialized_device();
  const bool fails = device.launches_until_failure == 0;
  if (device.launches_until_failure >= 0) --device.launches_until_failure;
  const Grid shape{.grid = {grid.x, grid.y, grid.z},
                   .block = {block.x, block.y, block.z},
                   .shared_bytes = shared_bytes};
  const Order order{.schedule = settings.schedule,
                    .seed = settings.seed,
                    .resident_blocks = settings.resident_blocks};
  stream->work.emplace_back([shape, fails, kernel = std::move(kernel), order] {
    if (fails) return cudaErrorIllegalAddress;
    execute(shape, kernel, order);
    return cudaSuccess;
  });
  return cudaSuccess;
}

cudaError_t enqueue_work(cudaStream_t stream, std::function<void()> work) {
  const Lock lock(runtime().mutex);
  if (sticky_error() != cudaSuccess) return sticky_error();
  stream->work.emplace_back([work = std::move(work)] {
    work();
    return cudaSuccess;
  });
  return cudaSuccess;
}

}  // namespace host_cuda

using host_cuda::current_device;
using host_cuda::Lock;
using host_cuda::runtime;
using host_cuda::sticky_error;

cudaError_t cudaGetDeviceCount(int* count) {
  const Lock lock(runtime().mutex);
  *count = 0;
  if (runtime().settings.driver_version == 0) return cudaErrorInsufficientDriver;
  if (runtime().settings.devices == 0) return cudaErrorNoDevice;
  *count = runtime().settings.devices;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  const Lock lock(runtime().mutex);
  const auto& settings = runtime().settings;
  if (device < 0 || device >= settings.devices) return cudaErrorInvalidDevice;
  *properties = {};
  std::strncpy(properties->name, "host-executed CUDA", sizeof(properties->name) - 1);
  properties->totalGlobalMem = settings.memory_bytes;
  properties->major = settings.compute_capability / 10;
  properties->minor = settings.compute_capability % 10;
  properties->multiProcessorCount = settings.multiprocessors;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  const Lock lock(runtime().mutex);
  const auto& settings = runtime().settings;
  if (device < 0 || device >= settings.devices) return cudaErrorInvalidDevice;
  switch (attribute) {
    case cudaDevAttrMultiProcessorCount:
      *value = settings.multiprocessors;
      break;
    case cudaDevAttrL2CacheSize:
      *value = 1 << 16;
      break;
    case cudaDevAttrComputeCapabilityMajor:
      *value = settings.compute_capability / 10;
      break;
    case cudaDevAttrComputeCapabilityMinor:
      *value = settings.compute_capability % 10;
      break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = static_cast<int>(settings.shared_bytes_per_block);
      break;
  }
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int* device) {
  *device = current_device();
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  const Lock lock(runtime().mutex);
  if (device < 0 || device >= runtime().settings.devices) return cudaErrorInvalidDevice;
  host_cuda::set_device = device;
  if (!host_cuda::contexts.empty()) host_cuda::contexts.pop_back();
  host_cuda::contexts.push_back(host_cuda::primary_context(device));
  return sticky_error();
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = runtime().settings.driver_version;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = 13000;
  return cudaSuccess;
}

cudaError_t cudaGetLastError() {
  const Lock lock(runtime().mutex);
  return sticky_error();
}

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "no error";
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorInsufficientDriver:
      return "CUDA driver version is insufficient for CUDA runtime version";
    case cudaErrorNoDevice:
      return "no CUDA-capable device is detected";
    case cudaErrorInvalidDevice:
      return "invalid device ordinal";
    case cudaErrorIllegalAddress:
      return "an illegal memory access was encountered";
    case cudaErrorLaunchFailure:
      return "unspecified launch failure";
    default:
      return "invalid argument";
  }
}

const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "cudaSuccess";
    case cudaErrorMemoryAllocation:
      return "cudaErrorMemoryAllocation";
    case cudaErrorInsufficientDriver:
      return "cudaErrorInsufficientDriver";
    case cudaErrorNoDevice:
      return "cudaErrorNoDevice";
    case cudaErrorInvalidDevice:
      return "cudaErrorInvalidDevice";
    case cudaErrorIllegalAddress:
      return "cudaErrorIllegalAddress";
    case cudaErrorLaunchFailure:
      return "cudaErrorLaunchFailure";
    default:
      return "cudaErrorInvalidValue";
  }
}

cudaError_t cudaMalloc(void** pointer, std::size_t bytes) {
  const Lock lock(runtime().mutex);
  if (sticky_error() != cudaSuccess) return sticky_error();
  auto& device = host_cuda::initialized_device();
  if (runtime().fail_allocations ||
      bytes > runtime().settings.memory_bytes -
                  std::min(runtime().settings.memory_bytes, device.used_bytes)) {
    return cudaErrorMemoryAllocation;
  }
  device.used_bytes += bytes;
  *pointer = host_cuda::allocate(bytes, current_device());
  return cudaSuccess;
}

cudaError_t cudaFree(void* pointer) {
  const Lock lock(runtime().mutex);
  (void)host_cuda::initialized_device();
  if (pointer == nullptr) return cudaSuccess;
  const auto found = runtime().allocations.find(pointer);
  if (found == runtime().allocations.end() || found->second.device < 0) std::abort();
  host_cuda::drain_all(found->second.device);
  runtime().devices[found->second.device].used_bytes -= found->second.bytes;
  runtime().allocations.erase(found);
  ::operator delete(pointer, host_cuda::kAlign);
  return sticky_error();
}

cudaError_t cudaHostAlloc(void** pointer, std::size_t bytes, unsigned /*flags*/) {
  const Lock lock(runtime().mutex);
  if (sticky_error() != cudaSuccess) return sticky_error();
  *pointer = host_cuda::allocate(bytes, -1);
  return cudaSuccess;
}

cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned /*flags*/) {
  *device = host;
  return cudaSuccess;
}

cudaError_t cudaFreeHost(void* pointer) {
  const Lock lock(runtime().mutex);
  (void)host_cuda::initialized_device();
  if (pointer == nullptr) return cudaSuccess;
  const auto found = runtime().allocations.find(pointer);
  if (found == runtime().allocations.end() || found->second.device >= 0) std::abort();
  for (int device = 0; device < runtime().settings.devices; ++device) host_cuda::drain_all(device);
  runtime().allocations.erase(found);
  ::operator delete(pointer, host_cuda::kAlign);
  return sticky_error();
}

cudaError_t cudaMemGetInfo(std::size_t* free_bytes, std::size_t* total_bytes) {
  const Lock lock(runtime().mutex);
  *total_bytes = runtime().settings.memory_bytes;
  *free_bytes = *total_bytes - host_cuda::initialized_device().used_bytes;
  return sticky_error();
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned /*flags*/) {
  const Lock lock(runtime().mutex);
  if (sticky_error() != cudaSuccess) return sticky_error();
  *stream = new CUstream_st{.device = current_device(), .work = {}};
  runtime().streams.insert(*stream);
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const Lock lock(runtime().mutex);
  (void)host_cuda::initialized_device();
  if (runtime().streams.erase(stream) == 0) std::abort();
  const std::unique_ptr<CUstream_st> owned(stream);
  return host_cuda::drain(*owned);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  const Lock lock(runtime().mutex);
  ++runtime().synchronisations;
  return host_cuda::drain(*stream);
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind /*kind*/,
                            cudaStream_t stream) {
  const Lock lock(runtime().mutex);
  if (sticky_error() != cudaSuccess) return sticky_error();
  stream->work.emplace_back([=] {
    std::memcpy(to, from, bytes);
    return cudaSuccess;
  });
  return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void* memory, int value, std::size_t bytes, cudaStream_t stream) {
  return host_cuda::enqueue_work(stream, [=] { std::memset(memory, value, bytes); });
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  const Lock lock(runtime().mutex);
  if (sticky_error() != cudaSuccess) return sticky_error();
  *event = new CUevent_st;
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  const Lock lock(runtime().mutex);
  (void)host_cuda::initialized_device();
  delete event;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return host_cuda::enqueue_work(stream, [event] {
    event->time = std::chrono::steady_clock::now();
    event->recorded = true;
  });
}

cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t start, cudaEvent_t end) {
  const Lock lock(runtime().mutex);
  if (sticky_error() != cudaSuccess) return sticky_error();
  if (!start->recorded || !end->recorded) return cudaErrorInvalidValue;
  *ms = std::chrono::duration<float, std::milli>(end->time - start->time).count();
  return cudaSuccess;
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function,
                                             unsigned /*version*/, unsigned long long /*flags*/,
                                             cudaDriverEntryPointQueryResult* /*found*/) {
  const std::string_view name = symbol;
  *function = name == "cuInit" ? reinterpret_cast<void*>(cuInit)
              : name == "cuDevicePrimaryCtxRetain"
                  ? reinterpret_cast<void*>(cuDevicePrimaryCtxRetain)
              : name == "cuCtxPushCurrent" ? reinterpret_cast<void*>(cuCtxPushCurrent)
              : name == "cuCtxPopCurrent"  ? reinterpret_cast<void*>(cuCtxPopCurrent)
                                           : nullptr;
  return *function == nullptr ? cudaErrorInvalidValue : cudaSuccess;
}

CUresult cuInit(unsigned /*flags*/) { return CUDA_SUCCESS; }

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  const Lock lock(runtime().mutex);
  if (device < 0 || device >= runtime().settings.devices) return CUDA_ERROR_INVALID_DEVICE;
  *context = host_cuda::primary_context(device);
  runtime().devices[device].has_context = true;
  return CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent(CUcontext context) {
  host_cuda::contexts.push_back(context);
  return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent(CUcontext* context) {
  if (host_cuda::contexts.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  *context = host_cuda::contexts.back();
  host_cuda::contexts.pop_back();
  return CUDA_SUCCESS;
}
