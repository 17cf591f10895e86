// In place of CUB's radix sort, whose kernels only nvcc can read.
#include "cuda/operators/sort_lookups.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "cuda/device/check.h"

namespace neuroshard::gpu {

std::size_t sort_scratch_bytes(std::int64_t count, int /*key_bits*/) {
  return static_cast<std::size_t>(count);
}

int sort_lookups(const LookupBuffers& buffers, std::int64_t count, int key_bits, void* /*scratch*/,
                 std::size_t /*scratch_bytes*/, cudaStream_t stream) {
  NEUROSHARD_CUDA_CHECK(host_cuda::enqueue_work(stream, [=] {
    const std::uint64_t mask = (std::uint64_t{1} << key_bits) - 1;
    const std::uint32_t* keys = buffers.keys[0];
    std::vector<std::int64_t> order(static_cast<std::size_t>(count));
    std::iota(order.begin(), order.end(), std::int64_t{0});
    std::stable_sort(order.begin(), order.end(), [=](std::int64_t a, std::int64_t b) {
      return (keys[a] & mask) < (keys[b] & mask);
    });
    for (std::int64_t i = 0; i < count; ++i) {
      buffers.keys[1][i] = keys[order[i]];
      buffers.samples[1][i] = buffers.samples[0][order[i]];
    }
    // The real sort leaves anything here, and nothing may rely on it.
    std::fill_n(buffers.keys[0], count, 0xFFFFFFFFU);
  }));
  return 1;
}

}  // namespace neuroshard::gpu
