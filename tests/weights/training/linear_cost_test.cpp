#include "weights/training/linear_cost.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "golden.h"
#include "neuroshard/table_features.h"
#include "weights/collection/sample_draws.h"

namespace neuroshard::training {
namespace {

// Operators that cost 0.2 ms, 0.5 ms a table and so much for each of the first four features.
struct SumOfTerms {
  static constexpr std::array<float, 4> kMsOfFeature = {0.9F, 0.05F, 0.4F, 0.2F};

  ComputeSamples samples;
  OperatorPieces pieces;
  std::vector<std::uint32_t> all;

  explicit SumOfTerms(std::size_t count) {
    samples.tables = augment_dims(testing::golden_tables());
    for (std::size_t i = 0; i < count; ++i) {
      Random random(3, i);
      const std::vector<int> ids = draw_shard(samples.tables, {}, random);
      samples.add(ids, 0.0);
    }
    pieces = operator_pieces(samples, kOperatorFeatures);
    for (std::size_t i = 0; i < count; ++i) samples.cost_ms[i] = true_ms(samples, pieces, i);
    all.resize(count);
    std::iota(all.begin(), all.end(), 0U);
  }

  static float true_ms(const ComputeSamples& of, const OperatorPieces& their, std::size_t sample) {
    float sum = 0.2F;
    for (std::size_t i = of.offsets[sample]; i < of.offsets[sample + 1]; ++i) {
      sum += 0.5F;
      for (std::size_t f = 0; f < kMsOfFeature.size(); ++f) {
        sum += kMsOfFeature[f] * their.features_of(their.ids[i])[f];
      }
    }
    return sum;
  }
};

TEST(LinearCost, FindsSumsInFewSamples) {
  const SumOfTerms given(400);
  const LinearCost linear(given.samples, given.pieces, std::span(given.all).first(100));
  double error = 0.0;
  for (std::size_t i = 100; i < 400; ++i) {
    const float cost_ms = given.samples.cost_ms[i];
    error += std::abs(linear.cost_ms(given.samples, given.pieces, i) - cost_ms) / cost_ms;
  }
  EXPECT_LT(error / 300.0, 0.05);
}

TEST(LinearCost, FewOutliersChangeLittle) {
  SumOfTerms given(200);
  const LinearCost clean(given.samples, given.pieces, given.all);
  ComputeSamples disturbed = given.samples;
  for (std::size_t i = 0; i < 200; i += 40) disturbed.cost_ms[i] *= 3.0F;
  const LinearCost linear(disturbed, given.pieces, given.all);
  double change = 0.0;
  for (std::size_t i = 0; i < 200; ++i) {
    change += std::abs(linear.cost_ms(given.samples, given.pieces, i) /
                           clean.cost_ms(given.samples, given.pieces, i) -
                       1.0F);
  }
  EXPECT_LT(change / 200.0, 0.05);
}

TEST(DrawnOperators, AreOfTheTablesAndSizesOfTheSamplesUsed) {
  SumOfTerms given(60);
  given.samples.served.assign(60, kDefaultBatchSize);
  for (std::size_t i = 0; i < 60; i += 2) given.samples.served[i] = 4096;
  const std::vector<std::uint32_t> used = {3, 10, 11, 40, 52};
  std::set<std::uint32_t> tables;
  std::set<std::pair<std::size_t, std::int64_t>> sizes;
  float least_ms = given.samples.cost_ms[3];
  const auto size_of = [](const ComputeSamples& of, std::size_t sample) {
    return std::pair(of.offsets[sample + 1] - of.offsets[sample], of.served_by(sample));
  };
  for (const std::uint32_t sample : used) {
    for (std::size_t i = given.samples.offsets[sample]; i < given.samples.offsets[sample + 1];
         ++i) {
      tables.insert(given.samples.table_ids[i]);
    }
    sizes.insert(size_of(given.samples, sample));
    least_ms = std::min(least_ms, given.samples.cost_ms[sample]);
  }
  const ComputeSamples drawn = drawn_operators(given.samples, used, 300, 1);
  ASSERT_EQ(drawn.size(), 300U);
  ASSERT_EQ(drawn.offsets.back(), drawn.table_ids.size());
  for (std::size_t i = 0; i < 300; ++i) {
    EXPECT_TRUE(sizes.contains(size_of(drawn, i)));
    EXPECT_GE(drawn.cost_ms[i], least_ms);
  }
  for (const std::uint32_t table : drawn.table_ids) EXPECT_TRUE(tables.contains(table));
  EXPECT_GT(std::set<float>(drawn.cost_ms.begin(), drawn.cost_ms.end()).size(), 100U);
}

}  // namespace
}  // namespace neuroshard::training
