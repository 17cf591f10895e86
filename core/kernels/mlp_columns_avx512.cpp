#include <immintrin.h>

#include "core/kernels/kernels_avx512.h"
#include "core/kernels/mlp_columns.h"

namespace neuroshard::avx512 {
namespace {

// 24 sums of 8 outputs, three registers of rows and one of a weight.
struct Simd {
  using Register = __m512;
  static constexpr int kWidth = kWide;
  static constexpr int kOutputsAtOnce = 8;
  static Register load(const float* x) { return _mm512_loadu_ps(x); }
  static void store(float* x, Register r) { _mm512_storeu_ps(x, r); }
  static Register all(float x) { return _mm512_set1_ps(x); }
  static Register fma(Register a, Register b, Register c) { return _mm512_fmadd_ps(a, b, c); }
  static Register add(Register a, Register b) { return _mm512_add_ps(a, b); }
  static Register rectified(Register x) { return _mm512_max_ps(x, _mm512_setzero_ps()); }
};

}  // namespace

void mlp_columns(const PackedLayerView* layers, int count, const float* in, int in_stride, int rows,
                 float* const (&scratch)[2], float* out) {
  run_mlp_columns<Simd>(layers, count, in, in_stride, rows, scratch, out);
}

}  // namespace neuroshard::avx512
