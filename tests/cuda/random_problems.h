#pragma once

#include <cstdint>

#include "neuroshard/backend.h"
#include "owned_problem.h"

namespace neuroshard::testing {

struct ProblemShape {
  int devices = 4;
  int pieces = 24;
  int limits = 11;
  /// Memory of all devices over the size of all pieces of a candidate, about. Below 1.1 many
  /// placements fail.
  double memory_slack = 1.6;
  /// One in so many pieces is equal to another, so that costs tie. 0: none.
  int one_in_equal = 3;
};

/// A task as a session gets it. `width`: Backend::embedding_width().
[[nodiscard]] OwnedProblem random_problem(std::uint64_t seed, const ProblemShape& shape, int width);

/// Candidates with about `pieces` pieces each, in random order; one of them is empty.
[[nodiscard]] CandidateBatch random_candidates(std::uint64_t seed, const PlacementProblem& problem,
                                               int candidates, int pieces);

}  // namespace neuroshard::testing
