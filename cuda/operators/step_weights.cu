#include <algorithm>

#include "cuda/device/launch.h"
#include "cuda/operators/step_weights.h"

namespace neuroshard::gpu {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kMaxBlocks = 4096;

// A thread a weight, in strides of the grid.
__global__ void __launch_bounds__(kThreads)
    step_weights_kernel(const float* gradients, std::size_t count, float learning_rate,
                        float* weights) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    weights[i] -= learning_rate * gradients[i];
  }
}

}  // namespace

void step_weights(const float* gradients, std::size_t count, float learning_rate, float* weights,
                  cudaStream_t stream) {
  const std::size_t blocks = std::min((count + kThreads - 1) / kThreads, std::size_t{kMaxBlocks});
  launch(step_weights_kernel, {static_cast<unsigned>(blocks), kThreads, 0}, stream, gradients,
         count, learning_rate, weights);
}

}  // namespace neuroshard::gpu
