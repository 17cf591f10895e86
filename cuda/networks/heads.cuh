#pragma once

#include "cuda/device/warp.cuh"
#include "cuda/networks/network_view.h"
#include "neuroshard/published_sizes.h"

namespace neuroshard::gpu {

/// Heads of the compute model, evaluated by one warp for one shard at a time. All lanes get the
/// cost. `sum` is in shared memory, on a 16-byte boundary, and complete: the caller has waited for
/// the lanes that wrote it, and waits again before it changes it.

/// One hidden layer of fixed size. Lane l keeps hidden units l, l + 32, ... in registers (64
/// weights for 32 -> 64 -> 1), so that a head costs no weight loads: per lane kWidth / 4 broadcast
/// reads of 16 bytes, kWidth * kHidden / 32 FMA in as many chains as units, and one butterfly.
template <int kWidth, int kHidden>
class RegisterHead {
  static_assert(kWidth % 4 == 0 && kHidden % kWarpSize == 0);
  static constexpr int kUnits = kHidden / kWarpSize;

 public:
  static constexpr int kScratchRows = 0;
  static constexpr int kSumWidth = kWidth;

  __device__ RegisterHead(const MlpView& head, int /*width*/, float* /*scratch*/) {
    const LayerView hidden = head.layers[0];
    const LayerView output = head.layers[1];
#pragma unroll
    for (int k = 0; k < kUnits; ++k) {
      const int unit = lane_index() + k * kWarpSize;
#pragma unroll
      for (int quad = 0; quad < kWidth / 4; ++quad) {
        const float4 w =
            read_only(reinterpret_cast<const float4*>(hidden.weight) + quad * kHidden + unit);
        weight_[k][4 * quad + 0] = w.x;
        weight_[k][4 * quad + 1] = w.y;
        weight_[k][4 * quad + 2] = w.z;
        weight_[k][4 * quad + 3] = w.w;
      }
      bias_[k] = read_only(hidden.bias + unit);
      output_weight_[k] = read_only(output.weight + unit);
    }
    output_bias_ = read_only(output.bias);
  }

  __device__ float operator()(const float* sum) const { return total(partial(sum)); }

  /// A lane's part of the cost. The lane has then read all that it needs of `sum`.
  __device__ float partial(const float* sum) const {
    float unit[kUnits];
#pragma unroll
    for (int k = 0; k < kUnits; ++k) unit[k] = bias_[k];
#pragma unroll
    for (int quad = 0; quad < kWidth / 4; ++quad) {
      const float4 x = reinterpret_cast<const float4*>(sum)[quad];
#pragma unroll
      for (int k = 0; k < kUnits; ++k) {
        unit[k] = __fmaf_rn(weight_[k][4 * quad + 0], x.x, unit[k]);
        unit[k] = __fmaf_rn(weight_[k][4 * quad + 1], x.y, unit[k]);
        unit[k] = __fmaf_rn(weight_[k][4 * quad + 2], x.z, unit[k]);
        unit[k] = __fmaf_rn(weight_[k][4 * quad + 3], x.w, unit[k]);
      }
    }
    float partial = 0.0F;
#pragma unroll
    for (int k = 0; k < kUnits; ++k) {
      partial = __fmaf_rn(output_weight_[k], rectified(unit[k]), partial);
    }
    return partial;
  }
  __device__ float total(float partial) const { return butterfly_sum(partial) + output_bias_; }

 private:
  float weight_[kUnits][kWidth];
  float bias_[kUnits];
  float output_weight_[kUnits];
  float output_bias_;
};

using PublishedHead = RegisterHead<kPublishedEmbedding, kPublishedHeadHidden>;

/// Any number of layers of any size: weights come from the caches, activations go through
/// `scratch`, two rows of head.width floats that belong to the warp.
class GenericHead {
 public:
  static constexpr int kScratchRows = 2;
  static constexpr int kSumWidth = 0;  ///< Not known when compiled.

  __device__ GenericHead(const MlpView& head, int /*width*/, float* scratch)
      : head_(head), scratch_(scratch) {}

  __device__ float operator()(const float* sum) const { return total(partial(sum)); }

  /// As RegisterHead.
  __device__ float partial(const float* sum) const {
    const float* x = sum;
    // Unrolled, the loops take more registers than 16 warps of place_candidates have.
#pragma unroll 1
    for (int k = 0; k + 1 < head_.count; ++k) {
      const LayerView layer = head_.layers[k];
      float* y = scratch_ + (k % 2) * head_.width;
      if (layer.outputs == 1) {
        const float unit = butterfly_sum(lane_products(layer, x)) + read_only(layer.bias);
        if (lane_index() < 4) y[lane_index()] = lane_index() == 0 ? rectified(unit) : 0.0F;
      } else {
        several_outputs(layer, x, y);
      }
      __syncwarp();
      x = y;
    }
    // The last layer reads of `scratch` what the same lanes wrote, so that this can run again.
    return lane_products(head_.layers[head_.count - 1], x);
  }
  __device__ float total(float partial) const {
    return butterfly_sum(partial) + read_only(head_.layers[head_.count - 1].bias);
  }

 private:
  __device__ static void several_outputs(const LayerView& layer, const float* x, float* y) {
    const int quads = round_to_4(layer.inputs) / 4;
#pragma unroll 1
    for (int unit = lane_index(); unit < round_to_4(layer.outputs); unit += kWarpSize) {
      if (unit >= layer.outputs) {
        y[unit] = 0.0F;  // The next layer reads whole quads.
        continue;
      }
      float sum = read_only(layer.bias + unit);
      const auto* weight = reinterpret_cast<const float4*>(layer.weight) + unit;
#pragma unroll 2
      for (int quad = 0; quad < quads; ++quad, weight += layer.outputs) {
        const float4 w = read_only(weight);
        const float4 v = reinterpret_cast<const float4*>(x)[quad];
        sum = __fmaf_rn(w.x, v.x, sum);
        sum = __fmaf_rn(w.y, v.y, sum);
        sum = __fmaf_rn(w.z, v.z, sum);
        sum = __fmaf_rn(w.w, v.w, sum);
      }
      y[unit] = rectified(sum);
    }
  }

  __device__ static float lane_products(const LayerView& layer, const float* x) {
    float partial = 0.0F;
    for (int i = lane_index(); i < layer.inputs; i += kWarpSize) {
      partial = __fmaf_rn(read_only(layer.weight + i), x[i], partial);
    }
    return partial;
  }

  const MlpView& head_;  ///< The kernel's argument: kept in constant memory, not in registers.
  float* scratch_;
};

}  // namespace neuroshard::gpu
