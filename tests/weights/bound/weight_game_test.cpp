#include "weights/bound/weight_game.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "core/base/random.h"

namespace neuroshard::testing {
namespace {

double least_mean(const std::vector<Resources>& uses, const Resources& weights) {
  double least = kInfinity;
  for (const Resources& use : uses) {
    least = std::min(least, std::inner_product(use.begin(), use.end(), weights.begin(), 0.0));
  }
  return least;
}

TEST(WeightGame, GivesAllWeightToTheMostOfOneUse) {
  const GameSolution solution = best_weights({{0.1, -2.0, 0.7, 0.0, 0.3, 0.2}});
  EXPECT_NEAR(solution.value, 0.7, 1e-12);
  EXPECT_NEAR(solution.weights[2], 1.0, 1e-12);
}

TEST(WeightGame, MixesWhatUsesSpare) {
  // The second resource makes up for the first: 0.25 * 3 - 0.75 * 1 = -0.25 * 1 + 0.75 * 1 / 3.
  const GameSolution solution = best_weights(
      {{3.0, -1.0, -9.0, -9.0, -9.0, -9.0}, {-1.0, 1.0 / 3.0, -9.0, -9.0, -9.0, -9.0}});
  EXPECT_NEAR(solution.value, 0.0, 1e-12);
  EXPECT_NEAR(solution.weights[0], 0.25, 1e-12);
  EXPECT_NEAR(solution.weights[1], 0.75, 1e-12);
}

TEST(WeightGame, FindsNoLessThanDrawnWeights) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed, 73);
    std::vector<Resources> uses(1 + random.below(12));
    for (Resources& use : uses) {
      for (double& of_resource : use) of_resource = 2.0 * random.uniform() - 1.0;
    }
    const GameSolution solution = best_weights(uses);
    EXPECT_NEAR(std::accumulate(solution.weights.begin(), solution.weights.end(), 0.0), 1.0, 1e-9);
    EXPECT_GE(std::ranges::min(solution.weights), 0.0);
    EXPECT_NEAR(solution.value, least_mean(uses, solution.weights), 1e-9) << "seed " << seed;
    for (int draw = 0; draw < 500; ++draw) {
      Resources weights;
      for (double& weight : weights) weight = -std::log(1.0 - random.uniform());
      const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
      for (double& weight : weights) weight /= sum;
      ASSERT_LE(least_mean(uses, weights), solution.value + 1e-9) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace neuroshard::testing
