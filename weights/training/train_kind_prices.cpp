#include <algorithm>
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

/// `rows`: amounts over the cost of a sample.
KindPrice fitted(training::Rows rows) {
  const std::vector<double> scales = training::scale_terms(rows);
  const std::vector<double> weights(rows.size(), 1.0);
  std::vector<double> factors = training::factors_for_1(rows, weights, kTinyRidge);
  // No amount is paid for: the one that would be most is left out.
  for (auto least = std::ranges::min_element(factors); *least < 0.0;
       least = std::ranges::min_element(factors)) {
    const std::ptrdiff_t left_out = least - factors.begin();
    for (std::vector<double>& row : rows) row[static_cast<std::size_t>(left_out)] = 0.0;
    factors = training::factors_for_1(rows, weights, kTinyRidge);
  }
  KindPrice price;
  for (std::size_t i = 0; i < kShardAmounts; ++i) price.ms[i] = factors[i] * scales[i];
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
    training::Rows rows;
    for (std::size_t k = 0; k < of_kind.size(); ++k) {
      const auto cost_ms = static_cast<double>(of_kind[k].cost_ms);
      if (!(cost_ms > 0.0)) {
        throw Error(what + ": number " + std::to_string(k) +
                    " costs nothing; remove it or measure it again");
      }
      if (k % kOneInIsTested == 0) continue;
      const ShardAmounts amounts = amounts_of(kind, of_kind[k]);
      for (double& amount : rows.emplace_back(amounts.begin(), amounts.end())) amount /= cost_ms;
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
