#include <algorithm>
#include <cstdint>

#include "cuda/device/launch.h"
#include "cuda/operators/fill_random.h"

namespace neuroshard::gpu {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kMaxBlocks = 4096;

// A thread a number, in strides of the grid. The hash is the finalizer of MurmurHash3 (public
// domain), which scatters consecutive numbers well enough for weights.
__global__ void __launch_bounds__(kThreads)
    fill_random_kernel(float* values, std::size_t count, float scale) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    auto hash = static_cast<std::uint32_t>(i ^ i >> 32);
    hash = (hash ^ hash >> 16) * 0x85EBCA6BU;
    hash = (hash ^ hash >> 13) * 0xC2B2AE35U;
    hash ^= hash >> 16;
    values[i] = scale * (static_cast<float>(hash >> 8) / 16777216.0F - 0.5F);
  }
}

}  // namespace

void fill_random(float* values, std::size_t count, float scale, cudaStream_t stream) {
  const std::size_t blocks = std::min((count + kThreads - 1) / kThreads, std::size_t{kMaxBlocks});
  launch(fill_random_kernel, {static_cast<unsigned>(blocks), kThreads, 0}, stream, values, count,
         scale);
}

}  // namespace neuroshard::gpu
