#pragma once

#include <cuda_runtime.h>

#include <cstddef>

namespace neuroshard::gpu {

/// Throws Error (kBackend) unless `error` is cudaSuccess: the place and call, what CUDA says of it,
/// and what to do.
void check(cudaError_t error, const char* call, const char* file, int line);

/// Throws Error (kBackend) if `what`, e.g. "a row of the head", takes more than the `available`
/// bytes of shared memory that a block has. A launch would fail with an error that says nothing of
/// it.
void require_shared_memory(const char* what, std::size_t bytes, std::size_t available);

}  // namespace neuroshard::gpu

#define NEUROSHARD_CUDA_CHECK(call) ::neuroshard::gpu::check((call), #call, __FILE__, __LINE__)
