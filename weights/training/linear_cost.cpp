#include "weights/training/linear_cost.h"

#include <algorithm>
#include <cmath>

#include "core/base/random.h"
#include "neuroshard/table_features.h"
#include "weights/training/linear_equations.h"

namespace neuroshard::training {
namespace {

constexpr double kRidge = 0.01;
// Errors beyond this share of the cost count in proportion.
constexpr double kFar = 0.1;
constexpr int kRounds = 20;
constexpr double kLeastMs = 1e-6;
constexpr std::uint64_t kOperatorsStream = 7;  // Stream of a seed.

// Terms that the factors multiply.
std::vector<double> terms_of(const ComputeSamples& samples, const OperatorPieces& pieces,
                             std::size_t sample) {
  std::vector<double> terms(pieces.count + 2, 0.0);
  for (std::size_t i = samples.offsets[sample]; i < samples.offsets[sample + 1]; ++i) {
    const std::span<const float> features = pieces.features_of(pieces.ids[i]);
    for (std::size_t f = 0; f < features.size(); ++f) terms[f] += features[f];
    terms[pieces.count] += static_cast<double>(samples.served_by(sample)) / kDefaultBatchSize;
  }
  terms.back() = 1.0;
  return terms;
}

}  // namespace

LinearCost::LinearCost(const ComputeSamples& samples, const OperatorPieces& pieces,
                       std::span<const std::uint32_t> used) {
  // In relation to the cost, so that all predictions should be 1; each term's mean square is 1.
  Rows rows;
  for (const std::uint32_t sample : used) {
    rows.push_back(terms_of(samples, pieces, sample));
    const double cost_ms = std::max<double>(samples.cost_ms[sample], kLeastMs);
    for (double& term : rows.back()) term /= cost_ms;
  }
  const std::vector<double> scales = scale_terms(rows);
  std::vector<double> weights(rows.size(), 1.0);
  for (int round = 0; round < kRounds; ++round) {
    factors_ = factors_for_1(rows, weights, kRidge);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      double error = -1.0;
      for (std::size_t t = 0; t < factors_.size(); ++t) error += factors_[t] * rows[r][t];
      weights[r] = std::abs(error) <= kFar ? 1.0 : kFar / std::abs(error);
    }
  }
  for (std::size_t t = 0; t < factors_.size(); ++t) factors_[t] *= scales[t];
}

float LinearCost::cost_ms(const ComputeSamples& samples, const OperatorPieces& pieces,
                          std::size_t sample) const {
  const std::vector<double> terms = terms_of(samples, pieces, sample);
  double cost_ms = 0.0;
  for (std::size_t t = 0; t < terms.size(); ++t) cost_ms += factors_[t] * terms[t];
  return static_cast<float>(cost_ms);
}

ComputeSamples drawn_operators(const ComputeSamples& samples, std::span<const std::uint32_t> used,
                               std::size_t count, std::uint64_t seed) {
  const LinearCost linear(samples, operator_pieces(samples, kOperatorFeatures), used);
  std::vector<std::uint32_t> tables;
  float least_ms = samples.cost_ms[used.front()];
  for (const std::uint32_t sample : used) {
    tables.insert(
        tables.end(),
        samples.table_ids.begin() + static_cast<std::ptrdiff_t>(samples.offsets[sample]),
        samples.table_ids.begin() + static_cast<std::ptrdiff_t>(samples.offsets[sample + 1]));
    least_ms = std::min(least_ms, samples.cost_ms[sample]);
  }
  ComputeSamples drawn;
  drawn.tables = samples.tables;
  Random random(seed, kOperatorsStream);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t like = used[random.below(used.size())];
    for (std::size_t t = samples.offsets[like]; t < samples.offsets[like + 1]; ++t) {
      drawn.table_ids.push_back(tables[random.below(tables.size())]);
    }
    drawn.offsets.push_back(drawn.table_ids.size());
    drawn.served.push_back(samples.served_by(like));
    drawn.cost_ms.push_back(0.0F);
  }
  const OperatorPieces pieces = operator_pieces(drawn, kOperatorFeatures);
  for (std::size_t i = 0; i < count; ++i) {
    drawn.cost_ms[i] = std::max(linear.cost_ms(drawn, pieces, i), least_ms);
  }
  return drawn;
}

}  // namespace neuroshard::training
