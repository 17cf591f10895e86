#include "weights/training/matrix_kernels.h"

#include <cmath>

namespace neuroshard::training {

#if defined(NEUROSHARD_HAS_AVX2)
extern const MatrixKernels kAvx2MatrixKernels;
#endif

namespace {

void multiply_portable(const MatrixProduct& product) {
  for (int i = 0; i < product.rows; ++i) {
    float* c = product.c + i * product.c_row;
    for (int j = 0; j < product.columns; ++j) c[j] = product.start ? product.start[j] : 0.0F;
    for (int k = 0; k < product.depth; ++k) {
      const float a = product.a[i * product.a_row + k * product.a_column];
      const float* b = product.b + k * product.b_row;
      for (int j = 0; j < product.columns; ++j) c[j] = std::fma(a, b[j], c[j]);
    }
  }
}

constexpr MatrixKernels kPortableMatrixKernels{"portable", [] { return true; }, multiply_portable};

}  // namespace

const std::vector<const MatrixKernels*>& all_matrix_kernels() {
  static const std::vector<const MatrixKernels*> kernels = {
#if defined(NEUROSHARD_HAS_AVX2)
    &kAvx2MatrixKernels,
#endif
    &kPortableMatrixKernels
  };
  return kernels;
}

const MatrixKernels& best_matrix_kernels() {
  for (const MatrixKernels* kernels : all_matrix_kernels()) {
    if (kernels->supported()) return *kernels;
  }
  return kPortableMatrixKernels;
}

}  // namespace neuroshard::training
