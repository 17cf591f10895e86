#include <cblas.h>

#include <algorithm>

#include "bench/training/training_runs.h"

namespace neuroshard::bench {
namespace {

void multiply(const training::MatrixProduct& product) {
  for (int row = 0; row < product.rows; ++row) {
    float* c = product.c + row * product.c_row;
    if (product.start != nullptr) {
      std::copy_n(product.start, product.columns, c);
    } else {
      std::fill_n(c, product.columns, 0.0F);
    }
  }
  const bool transposed = product.a_column != 1;
  cblas_sgemm(CblasRowMajor, transposed ? CblasTrans : CblasNoTrans, CblasNoTrans, product.rows,
              product.columns, product.depth, 1.0F, product.a,
              static_cast<int>(transposed ? product.a_column : product.a_row), product.b,
              static_cast<int>(product.b_row), 1.0F, product.c, static_cast<int>(product.c_row));
}

constexpr training::MatrixKernels kOpenblas{"openblas", [] { return true; }, multiply};

}  // namespace

const training::MatrixKernels* openblas_matrix_kernels() {
  openblas_set_num_threads(1);  // The trainer's own threads share out the products.
  return &kOpenblas;
}

}  // namespace neuroshard::bench
