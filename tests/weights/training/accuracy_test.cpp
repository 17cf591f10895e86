#include <gtest/gtest.h>

#include <cmath>

#include "core/base/random.h"
#include "neuroshard/training.h"
#include "repetitions.h"

namespace neuroshard {
namespace {

// The definition, pair by pair.
double tau_b_of_all_pairs(const std::vector<float>& x, const std::vector<float>& y) {
  double difference = 0.0;
  double untied_x = 0.0;
  double untied_y = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (std::size_t j = i + 1; j < x.size(); ++j) {
      const int by_x = (x[i] > x[j]) - (x[i] < x[j]);
      const int by_y = (y[i] > y[j]) - (y[i] < y[j]);
      difference += by_x * by_y;
      untied_x += by_x != 0;
      untied_y += by_y != 0;
    }
  }
  return difference / std::sqrt(untied_x * untied_y);
}

TEST(Accuracy, KendallTauIsThatOfAllPairs) {
  for (const std::uint64_t seed : testing::Seeds(50)) {
    Random random(seed);
    std::vector<float> measured;
    std::vector<float> predicted;
    const std::uint64_t values = 3 + random.below(40);  // Few values: many ties.
    for (std::uint64_t i = 0; i < 2 + values * 3; ++i) {
      measured.push_back(static_cast<float>(1 + random.below(values)));
      predicted.push_back(measured.back() + static_cast<float>(random.below(values)));
    }
    EXPECT_NEAR(measure_accuracy(measured, predicted).kendall_tau,
                tau_b_of_all_pairs(measured, predicted), 1e-12);
  }
}

TEST(Accuracy, OfPerfectAndReversedOrder) {
  const std::vector<float> measured{3, 1, 4, 1.5F, 9};
  std::vector<float> reversed;
  for (const float cost_ms : measured) reversed.push_back(-cost_ms);
  EXPECT_DOUBLE_EQ(measure_accuracy(measured, measured).kendall_tau, 1.0);
  EXPECT_DOUBLE_EQ(measure_accuracy(measured, reversed).kendall_tau, -1.0);
  EXPECT_EQ(measure_accuracy(measured, measured).mse, 0.0);
}

TEST(Accuracy, ErrorsByHand) {
  // A measured cost of zero has no relative error, and counts in the squared one only.
  const Accuracy accuracy =
      measure_accuracy(std::vector<float>{2, 4, 0}, std::vector<float>{3, 3, 1});
  EXPECT_EQ(accuracy.costs, 3U);
  EXPECT_DOUBLE_EQ(accuracy.mse, 1.0);
  EXPECT_DOUBLE_EQ(accuracy.mape, (0.5 + 0.25) / 2);
}

TEST(Accuracy, OfNothingAndOfConstants) {
  EXPECT_EQ(measure_accuracy({}, {}).costs, 0U);
  const std::vector<float> constant(5, 1.0F);
  EXPECT_EQ(measure_accuracy(constant, constant).kendall_tau, 0.0);
}

}  // namespace
}  // namespace neuroshard
