#include <immintrin.h>

#include "core/kernels/kernels_avx2.h"
#include "core/kernels/mlp_columns.h"

namespace neuroshard::avx2 {
namespace {

// 12 sums of 4 outputs, three registers of rows and one of a weight: all 16 that there are.
struct Simd {
  using Register = __m256;
  static constexpr int kWidth = kLanes;
  static constexpr int kOutputsAtOnce = 4;
  static Register load(const float* x) { return _mm256_loadu_ps(x); }
  static void store(float* x, Register r) { _mm256_storeu_ps(x, r); }
  static Register all(float x) { return _mm256_set1_ps(x); }
  static Register fma(Register a, Register b, Register c) { return _mm256_fmadd_ps(a, b, c); }
  static Register add(Register a, Register b) { return _mm256_add_ps(a, b); }
  static Register rectified(Register x) { return _mm256_max_ps(x, _mm256_setzero_ps()); }
};

}  // namespace

void mlp_columns(const PackedLayerView* layers, int count, const float* in, int in_stride, int rows,
                 float* const (&scratch)[2], float* out) {
  run_mlp_columns<Simd>(layers, count, in, in_stride, rows, scratch, out);
}

}  // namespace neuroshard::avx2
