#include <immintrin.h>

#include <cstddef>

#include "core/kernels/kernels_avx2.h"
#include "core/kernels/row_tiles.h"
#include "core/kernels/unroll.h"

namespace neuroshard::avx2 {
namespace {

// A tile of kRows rows times kVectors registers of outputs: every weight that is loaded serves
// kRows rows. With 6 x 2 there are 12 sums, enough to hide the latency of FMA, in 16 registers.
template <int kRows, int kVectors>
inline void dense_tile(const PackedLayerView& layer, int column, const float* in, int in_stride,
                       bool relu, float* out, int out_stride) {
  const std::ptrdiff_t weight_stride = padded_width(layer.outputs);
  const float* weight = layer.weight + column;
  __m256 sum[kRows][kVectors];
  unroll<kVectors>([&](auto v) {
    const __m256 bias = _mm256_load_ps(layer.bias + column + v * kLanes);
    unroll<kRows>([&](auto r) { sum[r][v] = bias; });
  });
  for (int i = 0; i < layer.inputs; ++i, weight += weight_stride) {
    __m256 w[kVectors];
    unroll<kVectors>([&](auto v) { w[v] = _mm256_load_ps(weight + v * kLanes); });
    unroll<kRows>([&](auto r) {
      const __m256 x = _mm256_broadcast_ss(in + std::ptrdiff_t{r} * in_stride + i);
      unroll<kVectors>([&](auto v) { sum[r][v] = _mm256_fmadd_ps(w[v], x, sum[r][v]); });
    });
  }
  unroll<kRows>([&](auto r) {
    unroll<kVectors>([&](auto v) {
      const __m256 y = relu ? _mm256_max_ps(sum[r][v], _mm256_setzero_ps()) : sum[r][v];
      _mm256_storeu_ps(out + std::ptrdiff_t{r} * out_stride + column + v * kLanes, y);
    });
  });
}

// Few rows leave registers free for more columns.
template <int kRows>
inline void dense_rows(const PackedLayerView& layer, const float* in, int in_stride, bool relu,
                       float* out, int out_stride) {
  constexpr int kWide = kRows <= 3 ? 4 : 2;
  const int width = padded_width(layer.outputs);
  int column = 0;
  for (; column + kWide * kLanes <= width; column += kWide * kLanes) {
    dense_tile<kRows, kWide>(layer, column, in, in_stride, relu, out, out_stride);
  }
  if constexpr (kWide > 2) {
    for (; column + 2 * kLanes <= width; column += 2 * kLanes) {
      dense_tile<kRows, 2>(layer, column, in, in_stride, relu, out, out_stride);
    }
  }
  for (; column < width; column += kLanes) {
    dense_tile<kRows, 1>(layer, column, in, in_stride, relu, out, out_stride);
  }
}

}  // namespace

void dense_layer(const PackedLayerView& layer, const float* in, int in_stride, int rows, bool relu,
                 float* out, int out_stride) {
  for_row_tiles<6>(rows, [&](auto tile, int first) {
    dense_rows<tile>(layer, in + std::ptrdiff_t{first} * in_stride, in_stride, relu,
                     out + std::ptrdiff_t{first} * out_stride, out_stride);
  });
}

}  // namespace neuroshard::avx2
