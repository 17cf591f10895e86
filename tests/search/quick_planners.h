#pragma once

#include <vector>

#include "neuroshard/planner.h"
#include "random_policies.h"

namespace neuroshard::testing {

/// One for each of all_algorithms(), in their order, with little effort.
[[nodiscard]] inline std::vector<Planner> quick_planners(const CostModels& models) {
  std::vector<Planner> planners;
  for (const Algorithm algorithm : all_algorithms()) {
    planners.emplace_back(
        models, PlannerOptions{
                    .algorithm = algorithm,
                    .effort = Effort::kFast,
                    .search = {.beam_width = 2, .candidates = 3, .max_splits = 2, .grid_steps = 3},
                    .threads = 1,
                    .policy = random_policy(algorithm)});
  }
  return planners;
}

}  // namespace neuroshard::testing
