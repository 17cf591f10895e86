#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <type_traits>

#include "cuda/device/check.h"

namespace neuroshard::gpu {

struct LaunchShape {
  unsigned blocks = 0;
  unsigned threads = 0;
  std::size_t shared_bytes = 0;
};

/// The only way kernels are started here: checked, and without the <<<>>> that no host compiler
/// reads, so that tests can execute the same sources on the CPU.
template <typename... Parameters>
void launch(void (*kernel)(Parameters...), const LaunchShape& shape, cudaStream_t stream,
            std::type_identity_t<Parameters>... arguments) {
  if (shape.blocks == 0) return;
  void* pointers[] = {&arguments...};
  NEUROSHARD_CUDA_CHECK(cudaLaunchKernel(kernel, dim3(shape.blocks), dim3(shape.threads), pointers,
                                         shape.shared_bytes, stream));
}

/// Lets `kernel` use up to `bytes` of shared memory on the current device. Its default is 48 KiB.
template <typename... Parameters>
void allow_shared_memory(void (*kernel)(Parameters...), std::size_t bytes) {
  NEUROSHARD_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                             static_cast<int>(bytes)));
}

}  // namespace neuroshard::gpu
