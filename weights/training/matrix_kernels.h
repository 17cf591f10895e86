#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace neuroshard::training {

/// C[rows, columns] = start + A[rows, depth] * B[depth, columns].
///
/// A has any strides, so one kernel serves the forward pass (A: inputs, B: weights, start: bias),
/// the gradient of the inputs (A: output gradients, B: transposed weights) and the gradient of the
/// weights (A: transposed inputs, B: output gradients).
struct MatrixProduct {
  int rows = 0;
  int columns = 0;  ///< A multiple of 8.
  int depth = 0;
  const float* a = nullptr;
  std::ptrdiff_t a_row = 0;     ///< Distance between rows of A.
  std::ptrdiff_t a_column = 0;  ///< Distance between columns of A.
  const float* b = nullptr;
  std::ptrdiff_t b_row = 0;
  float* c = nullptr;
  std::ptrdiff_t c_row = 0;
  const float* start = nullptr;  ///< [columns], the first value of every row of C; null: zeros.
};

/// One way to multiply. All of them take acc = fma(a, b, acc) for depth 0, 1, ... in this order, so
/// training gives the same bits on every CPU.
struct MatrixKernels {
  std::string_view name;
  bool (*supported)();
  void (*multiply)(const MatrixProduct&);
};

/// Kernels that were built, best first; the last one ("portable") runs everywhere.
[[nodiscard]] const std::vector<const MatrixKernels*>& all_matrix_kernels();
[[nodiscard]] const MatrixKernels& best_matrix_kernels();

}  // namespace neuroshard::training
