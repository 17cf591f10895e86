#include "weights/bound/weight_game.h"

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <vector>

namespace neuroshard {
namespace {

constexpr std::size_t kResources = std::tuple_size_v<Resources>;
constexpr double kZero = 1e-12;
/// Bland's rule, which cannot cycle, takes more pivots than that of the largest gain.
constexpr int kPivotsByGain = 300;
constexpr int kMostPivots = 1000;

/// max of a sum of variables of at least 0 under rows of `sum of variables <= limit`. The last
/// column has limits, the last row gains.
class Tableau {
 public:
  Tableau(std::size_t rows, std::size_t columns)
      : rows_(rows),
        columns_(columns),
        cells_(rows + 1, std::vector<double>(columns + rows + 1, 0.0)) {
    for (std::size_t row = 0; row < rows; ++row) cells_[row][columns + row] = 1.0;
  }
  double& at(std::size_t row, std::size_t column) { return cells_[row][column]; }
  void set_gain(std::size_t column, double gain) { cells_[rows_][column] = -gain; }
  void set_limit(std::size_t row, double limit) { cells_[row].back() = limit; }
  [[nodiscard]] double price(std::size_t row) const {
    return std::max(0.0, cells_[rows_][columns_ + row]);
  }

  void solve() {
    for (int pivots = 0; pivots < kMostPivots; ++pivots) {
      const std::size_t entering = entering_column(pivots < kPivotsByGain);
      if (entering == columns_ + rows_) return;
      const std::size_t leaving = leaving_row(entering);
      if (leaving == rows_) return;
      pivot(leaving, entering);
    }
  }

 private:
  [[nodiscard]] std::size_t entering_column(bool by_gain) const {
    const std::vector<double>& gains = cells_[rows_];
    std::size_t entering = columns_ + rows_;
    for (std::size_t k = 0; k < columns_ + rows_; ++k) {
      if (gains[k] >= -kZero) continue;
      if (!by_gain) return k;
      if (entering == columns_ + rows_ || gains[k] < gains[entering]) entering = k;
    }
    return entering;
  }

  [[nodiscard]] std::size_t leaving_row(std::size_t entering) const {
    std::size_t leaving = rows_;
    double least = 0.0;
    for (std::size_t row = 0; row < rows_; ++row) {
      if (cells_[row][entering] <= kZero) continue;
      const double ratio = cells_[row].back() / cells_[row][entering];
      if (leaving == rows_ || ratio < least) {
        leaving = row;
        least = ratio;
      }
    }
    return leaving;
  }

  void pivot(std::size_t leaving, std::size_t entering) {
    std::vector<double>& pivoted = cells_[leaving];
    const double by = pivoted[entering];
    for (double& cell : pivoted) cell /= by;
    for (std::size_t row = 0; row <= rows_; ++row) {
      const double times = cells_[row][entering];
      if (row == leaving || times == 0.0) continue;
      for (std::size_t k = 0; k < pivoted.size(); ++k) cells_[row][k] -= times * pivoted[k];
    }
  }

  std::size_t rows_;
  std::size_t columns_;
  std::vector<std::vector<double>> cells_;
};

}  // namespace

GameSolution best_weights(const std::vector<ClassResources>& uses, const ClassRange& classes) {
  // Shifted, all entries and so the value are at least 1. Mixtures y of uses, and parts v of the
  // classes, that solve max sum(y), A^T y <= v by class, sum(v) <= 1 have the weights as their
  // prices.
  double shift = 1.0;
  for (const ClassResources& use : uses) {
    for (std::size_t c = classes.begin; c < classes.end; ++c) {
      shift = std::max(shift, 1.0 - std::ranges::min(use[c]));
    }
  }
  const std::size_t rows = classes.count() * kResources;
  const auto row_of = [&](std::size_t of_class, std::size_t resource) {
    return (of_class - classes.begin) * kResources + resource;
  };
  Tableau tableau(rows + 1, uses.size() + classes.count());
  tableau.set_limit(rows, 1.0);
  for (std::size_t k = 0; k < uses.size(); ++k) tableau.set_gain(k, 1.0);
  for (std::size_t c = classes.begin; c < classes.end; ++c) {
    const std::size_t part = uses.size() + c - classes.begin;
    tableau.at(rows, part) = 1.0;
    for (std::size_t i = 0; i < kResources; ++i) {
      for (std::size_t k = 0; k < uses.size(); ++k) {
        tableau.at(row_of(c, i), k) = uses[k][c][i] + shift;
      }
      tableau.at(row_of(c, i), part) = -1.0;
    }
  }
  tableau.solve();
  GameSolution solution{.value = kInfinity};
  for (std::size_t c = classes.begin; c < classes.end; ++c) {
    double sum = 0.0;
    for (std::size_t i = 0; i < kResources; ++i) {
      solution.weights[c][i] = tableau.price(row_of(c, i));
      sum += solution.weights[c][i];
    }
    // A class whose resources bind nowhere may have any weights.
    if (sum == 0.0) {
      solution.weights[c].fill(1.0);
      sum = kResources;
    }
    for (double& weight : solution.weights[c]) weight /= sum;
  }
  for (const ClassResources& use : uses) {
    double value = 0.0;
    for (std::size_t c = classes.begin; c < classes.end; ++c) {
      for (std::size_t i = 0; i < kResources; ++i) value += solution.weights[c][i] * use[c][i];
    }
    solution.value = std::min(solution.value, value);
  }
  return solution;
}

}  // namespace neuroshard
