#pragma once

#include <cuda_runtime.h>

namespace neuroshard::bench {

/// Multiply-adds of the launch below.
[[nodiscard]] double gpu_multiply_adds(int multiprocessors, int rounds);

/// Nothing but independent fused multiply-adds on registers, in all threads that the device keeps
/// at once. `sink`: 4 bytes of device memory.
void run_gpu_multiply_adds(int multiprocessors, int rounds, float* sink, cudaStream_t stream);

}  // namespace neuroshard::bench
