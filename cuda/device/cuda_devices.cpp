#include "cuda/device/cuda_devices.h"

#include <cuda_runtime.h>

namespace neuroshard {

std::vector<CudaDevice> cuda_devices() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    (void)cudaGetLastError();
    return {};
  }
  std::vector<CudaDevice> devices;
  for (int index = 0; index < count; ++index) {
    cudaDeviceProp properties{};
    if (cudaGetDeviceProperties(&properties, index) != cudaSuccess) {
      (void)cudaGetLastError();
      continue;
    }
    const int capability = properties.major * 10 + properties.minor;
    devices.push_back({.index = index,
                       .name = properties.name,
                       .compute_capability = capability,
                       .multiprocessors = properties.multiProcessorCount,
                       .memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem),
                       .usable = capability >= gpu::kLeastComputeCapability});
  }
  return devices;
}

}  // namespace neuroshard
