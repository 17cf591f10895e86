#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace neuroshard::gpu {

/// Two pairs of arrays [count] in device memory; the first pair is what is sorted.
struct LookupBuffers {
  std::uint32_t* keys[2] = {nullptr, nullptr};
  std::uint32_t* samples[2] = {nullptr, nullptr};
};

/// Device memory that sort_lookups needs besides.
[[nodiscard]] std::size_t sort_scratch_bytes(std::int64_t count, int key_bits);

/// Sorts by the lowest `key_bits` bits of the keys, stably, with both pairs to work in. Returns
/// which pair has the result. CUB's radix sort; the tests that execute kernels on the CPU have a
/// std::stable_sort in its place (tests/cuda_host/sort_lookups.cpp).
[[nodiscard]] int sort_lookups(const LookupBuffers& buffers, std::int64_t count, int key_bits,
                               void* scratch, std::size_t scratch_bytes, cudaStream_t stream);

}  // namespace neuroshard::gpu
