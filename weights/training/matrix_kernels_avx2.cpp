// The only file of the trainer built with -mavx2 -mfma: keep inline functions of the standard
// library out of it, since the linker may keep its copy of them for CPUs without AVX2.
#include <immintrin.h>

#include "core/kernels/row_tiles.h"
#include "weights/training/matrix_kernels.h"

namespace neuroshard::training {

extern const MatrixKernels kAvx2MatrixKernels;

namespace {

// A tile of C with kRows x (8 * kVectors) elements stays in registers over the whole depth:
// 6 x 16 uses 12 of the 16 registers, and 12 independent chains hide the latency of the FMA.
// Bound by FMA issue when B's panel is in L1.
template <int kRows, int kVectors>
void multiply_tile(const MatrixProduct& product, int row, int column) {
  __m256 acc[kRows][kVectors];
  for (int v = 0; v < kVectors; ++v) {
    const __m256 start =
        product.start ? _mm256_loadu_ps(product.start + column + 8 * v) : _mm256_setzero_ps();
    for (int r = 0; r < kRows; ++r) acc[r][v] = start;
  }
  const float* a = product.a + row * product.a_row;
  const float* b = product.b + column;
  for (int k = 0; k < product.depth; ++k) {
    __m256 b_vector[kVectors];
    for (int v = 0; v < kVectors; ++v) b_vector[v] = _mm256_loadu_ps(b + 8 * v);
    for (int r = 0; r < kRows; ++r) {
      const __m256 a_value = _mm256_broadcast_ss(a + r * product.a_row);
      for (int v = 0; v < kVectors; ++v) {
        acc[r][v] = _mm256_fmadd_ps(a_value, b_vector[v], acc[r][v]);
      }
    }
    a += product.a_column;
    b += product.b_row;
  }
  for (int r = 0; r < kRows; ++r) {
    float* c = product.c + (row + r) * product.c_row + column;
    for (int v = 0; v < kVectors; ++v) _mm256_storeu_ps(c + 8 * v, acc[r][v]);
  }
}

template <int kVectors>
void multiply_panel(const MatrixProduct& product, int column) {
  for_row_tiles<6>(product.rows, [&](auto tile, int row) {
    multiply_tile<tile, kVectors>(product, row, column);
  });
}

void multiply_avx2(const MatrixProduct& product) {
  int column = 0;
  for (; column + 16 <= product.columns; column += 16) multiply_panel<2>(product, column);
  if (column < product.columns) multiply_panel<1>(product, column);
}

bool avx2_supported() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }

}  // namespace

constinit const MatrixKernels kAvx2MatrixKernels{"avx2", avx2_supported, multiply_avx2};

}  // namespace neuroshard::training
