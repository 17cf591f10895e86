#pragma once

#include <cstddef>

#include "core/kernels/cpu_kernels.h"
#include "core/kernels/unroll.h"

// CpuKernels::mlp_columns for any vector registers. `Simd` names them: Register, kWidth,
// kOutputsAtOnce, load, store, all (one value everywhere), fma, add, rectified. Everything here is
// static: each file that includes this is compiled for other instructions.
namespace neuroshard {

/// Registers of rows that are in flight at once.
inline constexpr int kColumnRegisters = 3;

/// A tile of kVectors registers of rows times Simd::kOutputsAtOnce outputs (which divides kLanes):
/// every weight serves kVectors registers. Writes `out`: [outputs, kVectors * kWidth].
template <typename Simd, int kVectors>
[[gnu::always_inline]] static inline void column_tile(const PackedLayerView& layer, int output,
                                                      const float* in, std::ptrdiff_t in_stride,
                                                      bool relu, float* out) {
  using Register = typename Simd::Register;
  constexpr int kOutputs = Simd::kOutputsAtOnce;
  static_assert(kLanes % kOutputs == 0);
  const std::ptrdiff_t weight_stride = padded_width(layer.outputs);
  const float* weight = layer.weight + output;
  Register sum[kOutputs][kVectors];
  unroll<kOutputs>([&](auto o) {
    const Register bias = Simd::all(layer.bias[output + o]);
    unroll<kVectors>([&](auto v) { sum[o][v] = bias; });
  });
  for (int i = 0; i < layer.inputs; ++i, weight += weight_stride, in += in_stride) {
    Register x[kVectors];
    unroll<kVectors>([&](auto v) { x[v] = Simd::load(in + v * Simd::kWidth); });
    unroll<kOutputs>([&](auto o) {
      const Register w = Simd::all(weight[o]);
      unroll<kVectors>([&](auto v) { sum[o][v] = Simd::fma(w, x[v], sum[o][v]); });
    });
  }
  unroll<kOutputs>([&](auto o) {
    unroll<kVectors>([&](auto v) {
      const Register y = relu ? Simd::rectified(sum[o][v]) : sum[o][v];
      Simd::store(out + ((output + o) * kVectors + v) * Simd::kWidth, y);
    });
  });
}

/// Partial sum kPartial of docs/arithmetic.md, rule 3, after the additions at distance kDistance.
template <typename Simd, int kPartial, int kDistance>
[[gnu::always_inline]] static inline typename Simd::Register partial_sum(
    const PackedLayerView& layer, const float* in, std::ptrdiff_t in_stride) {
  if constexpr (kDistance < 32) {
    return Simd::add(partial_sum<Simd, kPartial, 2 * kDistance>(layer, in, in_stride),
                     partial_sum<Simd, kPartial + kDistance, 2 * kDistance>(layer, in, in_stride));
  } else {
    auto sum = Simd::all(0.0F);
    for (int i = kPartial; i < layer.inputs; i += 32) {
      sum = Simd::fma(Simd::all(layer.weight[i]), Simd::load(in + i * in_stride), sum);
    }
    return sum;
  }
}

template <typename Simd, int kVectors>
static inline void layer_columns(const PackedLayerView& layer, const float* in,
                                 std::ptrdiff_t in_stride, bool relu, float* out) {
  if (layer.outputs == 1) {
    unroll<kVectors>([&](auto v) {
      const auto y = Simd::add(partial_sum<Simd, 0, 1>(layer, in + v * Simd::kWidth, in_stride),
                               Simd::all(layer.bias[0]));
      Simd::store(out + v * Simd::kWidth, relu ? Simd::rectified(y) : y);
    });
    return;
  }
  for (int output = 0; output < layer.outputs; output += Simd::kOutputsAtOnce) {
    column_tile<Simd, kVectors>(layer, output, in, in_stride, relu, out);
  }
}

/// All layers, for kVectors registers of rows; the costs are in the buffer that it returns.
template <typename Simd, int kVectors>
static inline const float* network_columns(const PackedLayerView* layers, int count,
                                           const float* in, std::ptrdiff_t in_stride,
                                           float* const (&scratch)[2]) {
  for (int k = 0; k < count; ++k) {
    float* out = scratch[k % 2];
    layer_columns<Simd, kVectors>(layers[k], in, in_stride, /*relu=*/k + 1 < count, out);
    in = out;
    in_stride = kVectors * Simd::kWidth;
  }
  return in;
}

template <typename Simd>
static inline void run_mlp_columns(const PackedLayerView* layers, int count, const float* in,
                                   int in_stride, int rows, float* const (&scratch)[2],
                                   float* out) {
  static_assert(kColumnRegisters * Simd::kWidth <= kColumnBlock);
  while (rows > 0) {
    const int vectors = (rows + Simd::kWidth - 1) / Simd::kWidth;
    const float* cost =
        vectors >= 3   ? network_columns<Simd, 3>(layers, count, in, in_stride, scratch)
        : vectors == 2 ? network_columns<Simd, 2>(layers, count, in, in_stride, scratch)
                       : network_columns<Simd, 1>(layers, count, in, in_stride, scratch);
    const int block = kColumnRegisters * Simd::kWidth;
    const int done = rows < block ? rows : block;
    for (int row = 0; row < done; ++row) out[row] = cost[row];
    rows -= done;
    in += done;
    out += done;
  }
}

}  // namespace neuroshard
