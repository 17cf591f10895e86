#pragma once

#include <vector>

#include "weights/bound/least_sizes.h"

namespace neuroshard {

/// Weights of resources in [0, 1] that add up to 1, and the least mean that they give.
struct GameSolution {
  Resources weights{};
  double value = 0.0;
};

/// Finds the weights whose least mean over `uses` is the most: a matrix game, by the simplex method
/// (Dantzig 1951). There is at least one use.
[[nodiscard]] GameSolution best_weights(const std::vector<Resources>& uses);

}  // namespace neuroshard
