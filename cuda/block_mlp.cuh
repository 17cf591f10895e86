#pragma once

#include <cuda_pipeline_primitives.h>

#include "cuda/comm_layout.h"
#include "cuda/network_view.h"
#include "cuda/warp.cuh"

namespace neuroshard::gpu {

/// Networks evaluated by a whole block for a tile of rows in shared memory: nothing between two
/// layers leaves the multiprocessor. A thread computes one output of kRowsPerThread rows at a time,
/// so that 16 bytes of weights, from the caches, serve 4 * kRowsPerThread FMA; activations are read
/// as broadcasts from shared memory.
inline constexpr int kRowsPerThread = 4;

/// Where a block reads the weights of a network.
enum class WeightsIn {
  kGlobalMemory,
  kSharedMemory,  ///< A copy of MlpView::memory.
};

template <WeightsIn kWeights, typename T>
__device__ inline T read_weight(const T* address) {
  if constexpr (kWeights == WeightsIn::kSharedMemory) {
    return *address;
  } else {
    return read_only(address);
  }
}

/// Starts to copy all weights of a network to `copy`, by a whole block. They are there for a thread
/// that has waited with __pipeline_wait_prior(0) and met the others at a barrier.
__device__ inline void start_weights_copy(const MlpView& mlp, std::byte* copy) {
  const int threads = static_cast<int>(blockDim.x);
  for (int at = 16 * static_cast<int>(threadIdx.x); at < mlp.bytes; at += 16 * threads) {
    __pipeline_memcpy_async(copy + at, mlp.memory + at, 16);
  }
  __pipeline_commit();
}

/// Sizes known at compile time (0: not) let the compiler unroll.
template <int kInputs = 0, int kOutputs = 0, WeightsIn kWeights = WeightsIn::kGlobalMemory>
__device__ inline void tile_dense_layer(const LayerView& layer, const float* in, float* out,
                                        int stride, int rows, bool relu) {
  // Where shared memory has no room for weights, registers matter more.
  [[maybe_unused]] constexpr int kUnroll =
      kInputs > 0 || kWeights == WeightsIn::kSharedMemory ? 2 : 1;
  const int quads = kInputs > 0 ? kInputs / 4 : round_to_4(layer.inputs) / 4;
  const int outputs = kOutputs > 0 ? kOutputs : layer.outputs;
  const int columns = kOutputs > 0 ? kOutputs : round_to_4(layer.outputs);
  const int groups = (rows + kRowsPerThread - 1) / kRowsPerThread;
  const int threads = static_cast<int>(blockDim.x);
  for (int item = static_cast<int>(threadIdx.x); item < columns * groups; item += threads) {
    const int output = item % columns;
    const int first_row = item / columns * kRowsPerThread;
    const float* x[kRowsPerThread];
    float sum[kRowsPerThread];
    const float bias = output < outputs ? read_weight<kWeights>(layer.bias + output) : 0.0F;
#pragma unroll
    for (int k = 0; k < kRowsPerThread; ++k) {
      // Beyond the last row: compute the last one again, but do not store it.
      x[k] = in + min(first_row + k, rows - 1) * stride;
      sum[k] = bias;
    }
    if (output < outputs) {
      const auto* weight = reinterpret_cast<const float4*>(layer.weight) + output;
#pragma unroll kUnroll
      for (int quad = 0; quad < quads; ++quad) {
        const float4 w =
            read_weight<kWeights>(weight + static_cast<std::ptrdiff_t>(quad) * outputs);
#pragma unroll
        for (int k = 0; k < kRowsPerThread; ++k) {
          const float4 v = reinterpret_cast<const float4*>(x[k])[quad];
          sum[k] = __fmaf_rn(w.x, v.x, sum[k]);
          sum[k] = __fmaf_rn(w.y, v.y, sum[k]);
          sum[k] = __fmaf_rn(w.z, v.z, sum[k]);
          sum[k] = __fmaf_rn(w.w, v.w, sum[k]);
        }
      }
    }
#pragma unroll
    for (int k = 0; k < kRowsPerThread; ++k) {
      // Columns that only fill up the last quad get 0.
      if (first_row + k < rows) {
        out[(first_row + k) * stride + output] = relu ? rectified(sum[k]) : sum[k];
      }
    }
  }
}

/// A warp a row, in the order of docs/arithmetic.md, rule 3.
template <WeightsIn kWeights = WeightsIn::kGlobalMemory>
__device__ inline void tile_one_output_layer(const LayerView& layer, const float* in, float* out,
                                             int stride, int rows, bool relu) {
  for (int row = warp_index(); row < rows; row += warps_in_block()) {
    const float* x = in + row * stride;
    float partial = 0.0F;
    for (int i = lane_index(); i < layer.inputs; i += kWarpSize) {
      partial = __fmaf_rn(read_weight<kWeights>(layer.weight + i), x[i], partial);
    }
    const float sum = butterfly_sum(partial) + read_weight<kWeights>(layer.bias);
    if (lane_index() < 4) {
      const float unit = relu ? rectified(sum) : sum;
      out[row * stride + lane_index()] = lane_index() == 0 ? unit : 0.0F;
    }
  }
}

/// Runs `rows` rows of normalised inputs, which are in the first of two tiles, with zeros up to a
/// multiple of 4 columns, through `mlp`. The second tile lies `tile_floats` behind the first; both
/// are overwritten. Returns the one with the outputs. Starts and ends with a barrier. `weights`: a
/// copy of mlp.memory in shared memory, if kWeights says so.
template <WeightsIn kWeights = WeightsIn::kGlobalMemory>
__device__ inline const float* tile_mlp(const MlpView& mlp, float* tiles, int tile_floats,
                                        int stride, int rows, bool relu_last,
                                        const std::byte* weights = nullptr) {
  // Of something in mlp.memory.
  const auto in_copy = [&](const auto* address) {
    return reinterpret_cast<decltype(address)>(
        weights + (reinterpret_cast<const std::byte*>(address) - mlp.memory));
  };
  __syncthreads();
  for (int k = 0; k < mlp.count; ++k) {
    LayerView layer;
    if constexpr (kWeights == WeightsIn::kSharedMemory) {
      layer = in_copy(mlp.layers)[k];
      layer.weight = in_copy(layer.weight);
      layer.bias = in_copy(layer.bias);
    } else {
      layer = mlp.layers[k];
    }
    const bool relu = k + 1 < mlp.count || relu_last;
    // An offset, not two pointers to swap: the compiler must see that this is shared memory.
    const float* in = tiles + k % 2 * tile_floats;
    float* out = tiles + (k + 1) % 2 * tile_floats;
    if (layer.outputs == 1) {
      tile_one_output_layer<kWeights>(layer, in, out, stride, rows, relu);
    } else {
      tile_dense_layer<0, 0, kWeights>(layer, in, out, stride, rows, relu);
    }
    __syncthreads();
  }
  return tiles + mlp.count % 2 * tile_floats;
}

}  // namespace neuroshard::gpu
