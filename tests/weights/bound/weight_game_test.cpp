#include "weights/bound/weight_game.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

#include "core/base/random.h"

namespace neuroshard::testing {
namespace {

constexpr ClassRange kOneClass{};

double sum_of(const Resources& weights) {
  return std::accumulate(weights.begin(), weights.end(), 0.0);
}

double least_sum(const std::vector<ClassResources>& uses, const ClassResources& weights,
                 const ClassRange& classes) {
  double least = kInfinity;
  for (const ClassResources& use : uses) {
    double sum = 0.0;
    for (std::size_t c = classes.begin; c < classes.end; ++c) {
      sum += std::inner_product(use[c].begin(), use[c].end(), weights[c].begin(), 0.0);
    }
    least = std::min(least, sum);
  }
  return least;
}

TEST(WeightGame, GivesAllWeightToTheMostOfOneUse) {
  const GameSolution solution = best_weights({{{{0.1, -2.0, 0.7, 0.0, 0.3, 0.2}}}}, kOneClass);
  EXPECT_NEAR(solution.value, 0.7, 1e-12);
  EXPECT_NEAR(solution.weights[0][2], 1.0, 1e-12);
}

TEST(WeightGame, MixesWhatUsesSpare) {
  // The second resource makes up for the first: 0.25 * 3 - 0.75 * 1 = -0.25 * 1 + 0.75 * 1 / 3.
  const GameSolution solution = best_weights(
      {{{{3.0, -1.0, -9.0, -9.0, -9.0, -9.0}}}, {{{-1.0, 1.0 / 3.0, -9.0, -9.0, -9.0, -9.0}}}},
      kOneClass);
  EXPECT_NEAR(solution.value, 0.0, 1e-12);
  EXPECT_NEAR(solution.weights[0][0], 0.25, 1e-12);
  EXPECT_NEAR(solution.weights[0][1], 0.75, 1e-12);
}

TEST(WeightGame, HasWeightsOfItsOwnForEachClass) {
  // The second resource of the first class makes up, and the third of the second class.
  const std::vector<ClassResources> uses{
      {Resources{}, {-1.0, 2.0, 0.0, -9.0, -9.0, -9.0}, {0.0, -1.0, 3.0, -9.0, -9.0, -9.0}}};
  const GameSolution solution = best_weights(uses, {.begin = 1, .end = 3});
  EXPECT_NEAR(solution.value, 5.0, 1e-12);
  EXPECT_NEAR(solution.weights[1][1], 1.0, 1e-12);
  EXPECT_NEAR(solution.weights[2][2], 1.0, 1e-12);
}

TEST(WeightGame, FindsNoLessThanDrawnWeights) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed, 73);
    const ClassRange classes =
        seed % 2 == 0 ? kOneClass : ClassRange{.begin = 1, .end = 2 + random.below(4)};
    std::vector<ClassResources> uses(1 + random.below(12));
    for (ClassResources& use : uses) {
      for (Resources& of_class : use) {
        for (double& of_resource : of_class) of_resource = 2.0 * random.uniform() - 1.0;
      }
    }
    const GameSolution solution = best_weights(uses, classes);
    for (std::size_t c = classes.begin; c < classes.end; ++c) {
      EXPECT_NEAR(sum_of(solution.weights[c]), 1.0, 1e-9);
      EXPECT_GE(std::ranges::min(solution.weights[c]), 0.0);
    }
    EXPECT_NEAR(solution.value, least_sum(uses, solution.weights, classes), 1e-9)
        << "seed " << seed;
    for (int draw = 0; draw < 500; ++draw) {
      ClassResources weights;
      for (Resources& of_class : weights) {
        for (double& weight : of_class) weight = -std::log(1.0 - random.uniform());
        const double sum = sum_of(of_class);
        for (double& weight : of_class) weight /= sum;
      }
      ASSERT_LE(least_sum(uses, weights, classes), solution.value + 1e-9) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace neuroshard::testing
