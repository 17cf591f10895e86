#include <immintrin.h>

#include <cstddef>

#include "core/kernels/kernels_avx2.h"
#include "core/kernels/kernels_avx512.h"
#include "core/kernels/row_tiles.h"
#include "core/kernels/unroll.h"

namespace neuroshard::avx512 {
namespace {

// A tile of kRows rows times kVectors registers of outputs. `last`: lanes of the last register
// that exist.
template <int kRows, int kVectors>
inline void dense_tile(const PackedLayerView& layer, int column, __mmask16 last, const float* in,
                       int in_stride, bool relu, float* out, int out_stride) {
  const std::ptrdiff_t weight_stride = padded_width(layer.outputs);
  const float* weight = layer.weight + column;
  const auto lanes = [&](auto v) {
    return v == kVectors - 1 ? last : static_cast<__mmask16>(0xFFFF);
  };
  __m512 sum[kRows][kVectors];
  unroll<kVectors>([&](auto v) {
    const __m512 bias = _mm512_maskz_loadu_ps(lanes(v), layer.bias + column + v * kWide);
    unroll<kRows>([&](auto r) { sum[r][v] = bias; });
  });
  for (int i = 0; i < layer.inputs; ++i, weight += weight_stride) {
    __m512 w[kVectors];
    unroll<kVectors>([&](auto v) { w[v] = _mm512_maskz_loadu_ps(lanes(v), weight + v * kWide); });
    unroll<kRows>([&](auto r) {
      const __m512 x = _mm512_set1_ps(in[std::ptrdiff_t{r} * in_stride + i]);
      unroll<kVectors>([&](auto v) { sum[r][v] = _mm512_fmadd_ps(w[v], x, sum[r][v]); });
    });
  }
  unroll<kRows>([&](auto r) {
    unroll<kVectors>([&](auto v) {
      const __m512 y = relu ? _mm512_max_ps(sum[r][v], _mm512_setzero_ps()) : sum[r][v];
      _mm512_mask_storeu_ps(out + std::ptrdiff_t{r} * out_stride + column + v * kWide, lanes(v), y);
    });
  });
}

template <int kRows>
inline void dense_rows(const PackedLayerView& layer, const float* in, int in_stride, bool relu,
                       float* out, int out_stride) {
  const int width = padded_width(layer.outputs);
  const auto tile = [&](auto vectors, int column) {
    const int missing = column + vectors * kWide - width;
    const auto last = static_cast<__mmask16>(missing > 0 ? 0xFF : 0xFFFF);
    dense_tile<kRows, vectors>(layer, column, last, in, in_stride, relu, out, out_stride);
  };
  int column = 0;
  for (; width - column > 3 * kWide; column += 4 * kWide) {
    tile(std::integral_constant<int, 4>{}, column);
  }
  const int vectors = (width - column + kWide - 1) / kWide;
  if (vectors == 3) tile(std::integral_constant<int, 3>{}, column);
  if (vectors == 2) tile(std::integral_constant<int, 2>{}, column);
  if (vectors == 1) tile(std::integral_constant<int, 1>{}, column);
}

}  // namespace

void dense_layer(const PackedLayerView& layer, const float* in, int in_stride, int rows, bool relu,
                 float* out, int out_stride) {
  if (layer.outputs <= kLanes) {  // Half of each register would be idle.
    return avx2::dense_layer(layer, in, in_stride, rows, relu, out, out_stride);
  }
  for_row_tiles<6>(rows, [&](auto tile, int first) {
    dense_rows<tile>(layer, in + std::ptrdiff_t{first} * in_stride, in_stride, relu,
                     out + std::ptrdiff_t{first} * out_stride, out_stride);
  });
}

}  // namespace neuroshard::avx512
