#include "bench/gpu/fma_kernel.h"
#include "cuda/device/launch.h"
#include "cuda/device/warp.cuh"

namespace neuroshard::bench {
namespace {

constexpr int kThreads = 512;
constexpr int kBlocksPerMultiprocessor = 4;
// Eight chains hide the latency of four cycles twice over, whatever the number of warps.
constexpr int kSums = 8;
constexpr int kUnrolled = 16;

__global__ void __launch_bounds__(kThreads, kBlocksPerMultiprocessor)
    multiply_adds_kernel(int rounds, float* sink) {
  float sum[kSums];
#pragma unroll
  for (int i = 0; i < kSums; ++i) sum[i] = static_cast<float>(static_cast<int>(threadIdx.x) + i);
  // Each sum tends to 1. Read at run time, so that nothing can be computed ahead.
  const float factor = 0.75F + static_cast<float>(rounds < 0);
  const float term = 1.0F - factor;
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int step = 0; step < kUnrolled; ++step) {
#pragma unroll
      for (int i = 0; i < kSums; ++i) sum[i] = __fmaf_rn(sum[i], factor, term);
    }
  }
  float total = 0.0F;
#pragma unroll
  for (int i = 0; i < kSums; ++i) total += sum[i];
  // Never true; the compiler does not know.
  if (total < 0.0F) *sink = total;
}

}  // namespace

double gpu_multiply_adds(int multiprocessors, int rounds) {
  return static_cast<double>(multiprocessors) * kBlocksPerMultiprocessor * kThreads * kSums *
         kUnrolled * rounds;
}

void run_gpu_multiply_adds(int multiprocessors, int rounds, float* sink, cudaStream_t stream) {
  gpu::launch(multiply_adds_kernel,
              {static_cast<unsigned>(multiprocessors * kBlocksPerMultiprocessor), kThreads, 0},
              stream, rounds, sink);
}

}  // namespace neuroshard::bench
