#pragma once

#include <cuda_runtime.h>

#include <cstddef>

namespace neuroshard::gpu {

/// A step of SGD: weights[0 .. count) -= learning_rate * gradients[0 .. count).
void step_weights(const float* gradients, std::size_t count, float learning_rate, float* weights,
                  cudaStream_t stream);

}  // namespace neuroshard::gpu
