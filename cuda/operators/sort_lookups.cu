#include <cub/device/device_radix_sort.cuh>

#include "cuda/device/check.h"
#include "cuda/operators/sort_lookups.h"

namespace neuroshard::gpu {

std::size_t sort_scratch_bytes(std::int64_t count, int key_bits) {
  cub::DoubleBuffer<std::uint32_t> none(nullptr, nullptr);
  std::size_t bytes = 0;
  NEUROSHARD_CUDA_CHECK(
      cub::DeviceRadixSort::SortPairs(nullptr, bytes, none, none, count, 0, key_bits));
  return bytes;
}

int sort_lookups(const LookupBuffers& buffers, std::int64_t count, int key_bits, void* scratch,
                 std::size_t scratch_bytes, cudaStream_t stream) {
  cub::DoubleBuffer<std::uint32_t> keys(buffers.keys[0], buffers.keys[1]);
  cub::DoubleBuffer<std::uint32_t> samples(buffers.samples[0], buffers.samples[1]);
  NEUROSHARD_CUDA_CHECK(cub::DeviceRadixSort::SortPairs(scratch, scratch_bytes, keys, samples,
                                                        count, 0, key_bits, stream));
  // CUB swaps the pairs together.
  return keys.selector;
}

}  // namespace neuroshard::gpu
