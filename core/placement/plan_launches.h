#pragma once

#include <cstddef>
#include <vector>

#include "neuroshard/backend.h"

namespace neuroshard {

/// Launches of a GPU for a single plan: so many at most, for all searches of the task and of its
/// parts together. Knows the whole beam searches that came of them: with more effort a search asks
/// once more for what it has asked for with less. Not thread-safe.
class PlanLaunches {
 public:
  /// `asked_again`: whether a search may be the same as one before it. Else none is remembered.
  explicit PlanLaunches(int most, bool asked_again = true)
      : left_(most), asked_again_(asked_again) {}

  [[nodiscard]] bool any() const { return left_ > 0; }
  /// Takes so many more; none, and false, if there are fewer left.
  [[nodiscard]] bool take(int count) {
    if (count > left_) return false;
    left_ -= count;
    return true;
  }

  /// Null: it has not been run.
  [[nodiscard]] const BeamOutcome* outcome_of(const PlacementProblem& problem,
                                              const BeamProblem& beam) const;
  void remember(const PlacementProblem& problem, const BeamProblem& beam,
                const BeamOutcome& outcome);

 private:
  struct Known {
    std::vector<std::byte> question;  ///< All that the outcome depends on.
    BeamOutcome outcome;
  };

  int left_;
  bool asked_again_;
  std::vector<Known> known_;
};

}  // namespace neuroshard
