#pragma once

#include <cuda_runtime.h>

namespace neuroshard::gpu {

/// Throws Error (kBackend) unless `error` is cudaSuccess: the place and call, what CUDA says of it,
/// and what to do.
void check(cudaError_t error, const char* call, const char* file, int line);

}  // namespace neuroshard::gpu

#define NEUROSHARD_CUDA_CHECK(call) ::neuroshard::gpu::check((call), #call, __FILE__, __LINE__)
