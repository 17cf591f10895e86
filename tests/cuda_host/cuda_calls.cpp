// Calls of CUDA's runtime and driver that the backend makes.
#include <cuda.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "cuda_host/device_runtime.h"

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
  host_cuda::choice().device = device;
  std::vector<CUcontext>& contexts = host_cuda::choice().contexts;
  if (!contexts.empty()) contexts.pop_back();
  contexts.push_back(host_cuda::primary_context(device));
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
  const Lock lock(runtime().mutex);
  if (runtime().fail_mappings) return cudaErrorMemoryAllocation;
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
  ++runtime().copies;
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
  host_cuda::choice().contexts.push_back(context);
  return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent(CUcontext* context) {
  std::vector<CUcontext>& contexts = host_cuda::choice().contexts;
  if (contexts.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  *context = contexts.back();
  contexts.pop_back();
  return CUDA_SUCCESS;
}
