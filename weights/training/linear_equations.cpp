#include "weights/training/linear_equations.h"

#include <cmath>
#include <cstddef>

namespace neuroshard::training {
namespace {

// `matrix` x = `right`: x takes the place of `right`, its Cholesky factor that of the matrix, which
// is positive definite and of which the lower triangle is read, [rows][columns].
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

}  // namespace

std::vector<double> scale_terms(Rows& rows) {
  std::vector<double> scales(rows.front().size(), 0.0);
  for (std::size_t t = 0; t < scales.size(); ++t) {
    double squares = 0.0;
    for (const std::vector<double>& row : rows) squares += row[t] * row[t];
    const double root = std::sqrt(squares / static_cast<double>(rows.size()));
    scales[t] = root > 0.0 ? 1.0 / root : 0.0;
    for (std::vector<double>& row : rows) row[t] *= scales[t];
  }
  return scales;
}

std::vector<double> factors_for_1(const Rows& rows, std::span<const double> weights, double ridge) {
  const std::size_t size = rows.front().size();
  std::vector<std::vector<double>> matrix(size, std::vector<double>(size, 0.0));
  std::vector<double> right(size, 0.0);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::size_t i = 0; i < size; ++i) {
      const double weighted = weights[r] * rows[r][i];
      right[i] += weighted;
      for (std::size_t j = 0; j <= i; ++j) matrix[i][j] += weighted * rows[r][j];
    }
  }
  for (std::size_t i = 0; i < size; ++i) matrix[i][i] += ridge * static_cast<double>(rows.size());
  solve_positive_definite(matrix, right);
  return right;
}

}  // namespace neuroshard::training
