#include "weights/training/linear_equations.h"

#include <cmath>
#include <cstddef>

namespace neuroshard::training {

void solve_positive_definite(std::vector<std::vector<double>>& matrix, std::vector<double>& right) {
  const std::size_t size = right.size();
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = matrix[i][j];
      for (std::size_t k = 0; k < j; ++k) sum -= matrix[i][k] * matrix[j][k];
      matrix[i][j] = i == j ? std::sqrt(sum) : sum / matrix[j][j];
    }
  }
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t k = 0; k < i; ++k) right[i] -= matrix[i][k] * right[k];
    right[i] /= matrix[i][i];
  }
  for (std::size_t i = size; i-- > 0;) {
    for (std::size_t k = i + 1; k < size; ++k) right[i] -= matrix[k][i] * right[k];
    right[i] /= matrix[i][i];
  }
}

}  // namespace neuroshard::training
