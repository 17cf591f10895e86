#pragma once

#include <vector>

#include "weights/bound/least_sizes.h"

namespace neuroshard {

/// Weights of resources in [0, 1] that add up to 1 in each class, and the least sum that they give.
struct GameSolution {
  ClassResources weights{};
  double value = 0.0;
};

/// Finds the weights whose least sum over `uses` is the most: a game of matrices, by the simplex
/// method (Dantzig 1951). There is at least one use; only `classes` of uses count.
[[nodiscard]] GameSolution best_weights(const std::vector<ClassResources>& uses,
                                        const ClassRange& classes);

}  // namespace neuroshard
