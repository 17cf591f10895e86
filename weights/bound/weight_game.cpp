#include "weights/bound/weight_game.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace neuroshard {

GameSolution best_weights(const std::vector<Resources>& uses) {
  // Shifted, all entries and so the value are at least 1. Then mixtures y of uses that solve
  // max sum(y), A^T y <= 1 have the weights as their prices.
  constexpr std::size_t kRows = std::tuple_size_v<Resources>;
  double shift = 1.0;
  for (const Resources& use : uses) shift = std::max(shift, 1.0 - std::ranges::min(use));
  const std::size_t columns = uses.size() + kRows;
  // Rows of the tableau are resources, its columns uses, slacks and the right side.
  std::vector<std::vector<double>> tableau(kRows + 1, std::vector<double>(columns + 1, 0.0));
  for (std::size_t row = 0; row < kRows; ++row) {
    for (std::size_t k = 0; k < uses.size(); ++k) tableau[row][k] = uses[k][row] + shift;
    tableau[row][uses.size() + row] = 1.0;
    tableau[row][columns] = 1.0;
  }
  std::vector<double>& gains = tableau[kRows];
  std::fill_n(gains.begin(), uses.size(), -1.0);
  constexpr double kZero = 1e-12;
  constexpr int kMostPivots = 500;
  for (int pivots = 0; pivots < kMostPivots; ++pivots) {
    // Bland's rule, which cannot cycle.
    std::size_t entering = 0;
    while (entering < columns && gains[entering] >= -kZero) ++entering;
    if (entering == columns) break;
    std::size_t leaving = kRows;
    double least = 0.0;
    for (std::size_t row = 0; row < kRows; ++row) {
      if (tableau[row][entering] <= kZero) continue;
      const double ratio = tableau[row][columns] / tableau[row][entering];
      if (leaving == kRows || ratio < least) {
        leaving = row;
        least = ratio;
      }
    }
    if (leaving == kRows) break;
    std::vector<double>& pivot = tableau[leaving];
    const double by = pivot[entering];
    for (double& x : pivot) x /= by;
    for (std::size_t row = 0; row <= kRows; ++row) {
      const double times = tableau[row][entering];
      if (row == leaving || times == 0.0) continue;
      for (std::size_t k = 0; k <= columns; ++k) tableau[row][k] -= times * pivot[k];
    }
  }
  GameSolution solution;
  double sum = 0.0;
  for (std::size_t row = 0; row < kRows; ++row) {
    solution.weights[row] = std::max(0.0, gains[uses.size() + row]);
    sum += solution.weights[row];
  }
  for (double& weight : solution.weights) weight /= sum;
  solution.value = 1.0 / sum - shift;
  return solution;
}

}  // namespace neuroshard
