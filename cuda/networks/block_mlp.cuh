#pragma once

#include <cuda_pipeline_primitives.h>

#include "cuda/device/warp.cuh"
#include "cuda/networks/comm_layout.h"
#include "cuda/networks/network_view.h"

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

/// No offset of a copy.
inline constexpr int kNoCopy = -1;

/// Starts to copy all weights of a network to this offset in shared memory, by a whole block. They
/// are there for a thread that has waited with __pipeline_wait_prior(0) and met the others at a
/// barrier.
__device__ inline void start_weights_copy(const MlpView& mlp, int copy) {
  const int threads = static_cast<int>(blockDim.x);
  // Not read again behind every copy.
  const std::byte* from = mlp.memory;
  const int bytes = mlp.bytes;
#pragma unroll 4
  for (int at = 16 * static_cast<int>(threadIdx.x); at < bytes; at += 16 * threads) {
    __pipeline_memcpy_async(dynamic_shared_memory() + copy + at, from + at, 16);
  }
  __pipeline_commit();
}

/// Four inputs: the weights of an output, and the activations of the rows.
struct InputQuad {
  float4 weights;
  float4 x[kRowsPerThread];
};

__device__ inline void add_products(const InputQuad& quad, float (&sum)[kRowsPerThread]) {
#pragma unroll
  for (int k = 0; k < kRowsPerThread; ++k) {
    sum[k] = __fmaf_rn(quad.weights.x, quad.x[k].x, sum[k]);
    sum[k] = __fmaf_rn(quad.weights.y, quad.x[k].y, sum[k]);
    sum[k] = __fmaf_rn(quad.weights.z, quad.x[k].z, sum[k]);
    sum[k] = __fmaf_rn(quad.weights.w, quad.x[k].w, sum[k]);
  }
}

/// Adds the products of `quads` quads; `read(quad)` reads one. Two are multiplied while the next
/// two are on their way: a warp may be the only one of its scheduler, and then nothing else hides
/// what a load takes. Carried over the end of a turn, since the compiler puts loads within one
/// before their use.
template <typename Read>
__device__ inline void add_quads(int quads, const Read& read, float (&sum)[kRowsPerThread]) {
  if (quads % 4 != 0) {
#pragma unroll 1
    for (int quad = 0; quad < quads; ++quad) add_products(read(quad), sum);
    return;
  }
  InputQuad a[2] = {read(0), read(1)};
  int quad = 2;
#pragma unroll 1
  for (; quad + 2 < quads; quad += 4) {
    const InputQuad b[2] = {read(quad), read(quad + 1)};
    add_products(a[0], sum);
    add_products(a[1], sum);
    a[0] = read(quad + 2);
    a[1] = read(quad + 3);
    add_products(b[0], sum);
    add_products(b[1], sum);
  }
  const InputQuad b[2] = {read(quad), read(quad + 1)};
  add_products(a[0], sum);
  add_products(a[1], sum);
  add_products(b[0], sum);
  add_products(b[1], sum);
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

/// Finds `address` of a network's memory in the copy at offset `copy` of shared memory. The offset
/// is into the block's memory, so that the compiler sees that it is shared.
template <typename T>
__device__ inline const T* in_copy(const MlpView& mlp, int copy, const T* address) {
  const auto offset = reinterpret_cast<const std::byte*>(address) - mlp.memory;
  return reinterpret_cast<const T*>(dynamic_shared_memory() + (copy + static_cast<int>(offset)));
}

/// Number `k` of a network's layers, with weights in its copy.
__device__ inline LayerView copied_layer(const MlpView& mlp, int copy, int k) {
  LayerView layer = in_copy(mlp, copy, mlp.layers)[k];
  layer.weight = in_copy(mlp, copy, layer.weight);
  layer.bias = in_copy(mlp, copy, layer.bias);
  return layer;
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
/// are overwritten. Returns the one with the outputs. Starts and ends with a barrier. `copy`:
/// offset of a copy of mlp.memory in shared memory, if kWeights says so.
template <WeightsIn kWeights = WeightsIn::kGlobalMemory>
__device__ inline const float* tile_mlp(const MlpView& mlp, float* tiles, int tile_floats,
                                        int stride, int rows, bool relu_last,
                                        [[maybe_unused]] int copy = kNoCopy) {
  __syncthreads();
  for (int k = 0; k < mlp.count; ++k) {
    LayerView layer;
    if constexpr (kWeights == WeightsIn::kSharedMemory) {
      layer = copied_layer(mlp, copy, k);
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

/// Runs the network for up to kRowsPerThread rows, with weights in shared memory; the last layer
/// without ReLU. A thread computes an output of all rows. Between two barriers little but the
/// products is done.
__device__ inline const float* few_rows_mlp(const MlpView& mlp, int copy, float* tiles,
                                            int tile_floats, int stride, int rows) {
  // Beyond the last row that one is computed again, and stored again, to the last bit.
  int row_at[kRowsPerThread];
#pragma unroll
  for (int k = 0; k < kRowsPerThread; ++k) row_at[k] = min(k, rows - 1) * stride;
  LayerView layer = copied_layer(mlp, copy, 0);
  __syncthreads();
#pragma unroll 1
  for (int k = 0; k < mlp.count; ++k) {
    const bool relu = k + 1 < mlp.count;
    const float* in = tiles + k % 2 * tile_floats;
    float* out = tiles + (k + 1) % 2 * tile_floats;
    if (layer.outputs == 1) {
      tile_one_output_layer<WeightsIn::kSharedMemory>(layer, in, out, stride, rows, relu);
    } else {
      const int threads = static_cast<int>(blockDim.x);
#pragma unroll 1
      for (int output = static_cast<int>(threadIdx.x); output < round_to_4(layer.outputs);
           output += threads) {
        // Columns that only fill up the last quad compute the last output again, but store 0.
        const int computed = min(output, layer.outputs - 1);
        const auto* weight = reinterpret_cast<const float4*>(layer.weight) + computed;
        float sum[kRowsPerThread];
#pragma unroll
        for (int row = 0; row < kRowsPerThread; ++row) sum[row] = layer.bias[computed];
        const auto read = [&](int quad) {
          InputQuad read;
          read.weights = weight[quad * layer.outputs];
#pragma unroll
          for (int row = 0; row < kRowsPerThread; ++row) {
            read.x[row] = reinterpret_cast<const float4*>(in + row_at[row])[quad];
          }
          return read;
        };
        add_quads(round_to_4(layer.inputs) / 4, read, sum);
#pragma unroll
        for (int row = 0; row < kRowsPerThread; ++row) {
          const float unit = relu ? rectified(sum[row]) : sum[row];
          out[row_at[row] + output] = output < layer.outputs ? unit : 0.0F;
        }
      }
    }
    // There when the barrier is passed.
    layer = copied_layer(mlp, copy, min(k + 1, mlp.count - 1));
    __syncthreads();
  }
  return tiles + mlp.count % 2 * tile_floats;
}

}  // namespace neuroshard::gpu
