#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "neuroshard/error.h"
#include "neuroshard/training.h"
#include "weights/training/linear_equations.h"

namespace neuroshard {
namespace {

constexpr std::size_t kOneInIsTested = 5;
constexpr std::size_t kLeastSamples = 10;
// Share of the mean square of an amount: decides between amounts that go together, and nothing
// else.
constexpr double kTinyRidge = 1e-10;

ShardAmounts amounts_of(ShardingKind kind, const KindSample& sample) {
  const double part = 1.0 / sample.devices;
  const auto samples = static_cast<double>(sample.samples);
  return kind == ShardingKind::kReplicate
             ? shard_amounts(samples * part, sample.dim, sample.pooling_factor, 1.0, 1.0)
             : shard_amounts(samples, sample.dim, sample.pooling_factor, 1.0, part);
}

/// Least squares of what `amounts`, each scaled to a mean square of 1 in `rows`, have to be
/// multiplied by for 1.
std::vector<double> factors_of(const std::vector<ShardAmounts>& rows,
                               const std::vector<std::size_t>& amounts) {
  std::vector<std::vector<double>> matrix(amounts.size(), std::vector<double>(amounts.size(), 0.0));
  std::vector<double> factors(amounts.size(), 0.0);
  for (const ShardAmounts& row : rows) {
    for (std::size_t i = 0; i < amounts.size(); ++i) {
      factors[i] += row[amounts[i]];
      for (std::size_t j = 0; j <= i; ++j) matrix[i][j] += row[amounts[i]] * row[amounts[j]];
    }
  }
  for (std::size_t i = 0; i < amounts.size(); ++i) {
    matrix[i][i] += kTinyRidge * static_cast<double>(rows.size());
  }
  training::solve_positive_definite(matrix, factors);
  return factors;
}

/// `rows`: amounts over the cost of a sample.
KindPrice fitted(std::vector<ShardAmounts> rows) {
  ShardAmounts scales{};
  std::vector<std::size_t> amounts;
  for (std::size_t i = 0; i < kShardAmounts; ++i) {
    double squares = 0.0;
    for (const ShardAmounts& row : rows) squares += row[i] * row[i];
    if (squares == 0.0) continue;
    amounts.push_back(i);
    scales[i] = 1.0 / std::sqrt(squares / static_cast<double>(rows.size()));
    for (ShardAmounts& row : rows) row[i] *= scales[i];
  }
  KindPrice price;
  while (!amounts.empty()) {
    const std::vector<double> factors = factors_of(rows, amounts);
    const auto least = std::ranges::min_element(factors);
    if (*least < 0.0) {
      amounts.erase(amounts.begin() + (least - factors.begin()));
      continue;
    }
    for (std::size_t i = 0; i < amounts.size(); ++i) {
      price.ms[amounts[i]] = factors[i] * scales[amounts[i]];
    }
    break;
  }
  return price;
}

}  // namespace

TrainedKindPrices train_kind_prices(const KindSamples& samples) {
  if (samples.empty()) throw Error("there are no samples of kinds of sharding; give some");
  TrainedKindPrices trained;
  for (const auto& [kind, of_kind] : samples) {
    const std::string what = "samples of kind " + std::string(name_of(kind));
    if (of_kind.size() < kLeastSamples) {
      throw Error(what + ": there are " + std::to_string(of_kind.size()) + "; give at least " +
                  std::to_string(kLeastSamples));
    }
    std::vector<ShardAmounts> rows;
    for (std::size_t k = 0; k < of_kind.size(); ++k) {
      const auto cost_ms = static_cast<double>(of_kind[k].cost_ms);
      if (!(cost_ms > 0.0)) {
        throw Error(what + ": number " + std::to_string(k) +
                    " costs nothing; remove it or measure it again");
      }
      if (k % kOneInIsTested == 0) continue;
      ShardAmounts& row = rows.emplace_back(amounts_of(kind, of_kind[k]));
      for (double& amount : row) amount /= cost_ms;
    }
    const KindPrice& price = trained.prices[kind] = fitted(std::move(rows));
    TestResult test;
    for (std::size_t k = 0; k < of_kind.size(); k += kOneInIsTested) {
      test.measured_ms.push_back(of_kind[k].cost_ms);
      test.predicted_ms.push_back(static_cast<float>(price.price_ms(amounts_of(kind, of_kind[k]))));
    }
    test.accuracy = measure_accuracy(test.measured_ms, test.predicted_ms);
    TrainingSummary summary;
    summary.network = name_of(kind);
    summary.test_samples = test.measured_ms.size();
    summary.train_samples = of_kind.size() - summary.test_samples;
    // There is nothing to repeat: one pass is all.
    summary.epochs = 1;
    summary.best_epoch = 1;
    summary.tests.push_back(std::move(test));
    trained.summaries.push_back(std::move(summary));
  }
  return trained;
}

}  // namespace neuroshard
