#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/shard_states.h"

namespace neuroshard {

/// Greedy placements of one candidate under all dim limits. The limits share most of their work: a
/// run under a tighter limit takes the same steps as the run under a looser one, until that one
/// exceeds the tighter limit; so runs go from loose to tight, and each takes back only the steps
/// after that point.
class GridPlacement {
 public:
  /// Borrows all three.
  GridPlacement(const CpuKernels& kernels, ShardStates& states, const PlacementProblem& problem);

  /// Starts a candidate: `order` (piece ids) is borrowed until the last run.
  void start(std::span<const std::uint32_t> order);

  enum class Outcome {
    kPlaced,
    kNoRoom,    ///< Some piece fits nowhere.
    kUnchanged  ///< The last run already keeps to this limit.
  };
  /// `dim_limit` is no higher than in the last run of this candidate.
  Outcome run(std::int64_t dim_limit);

  /// Of each device after a run that placed everything.
  [[nodiscard]] std::span<const ShardStates::Id> states() const { return state_; }
  /// Compute costs, 0 for an empty device; padded.
  [[nodiscard]] std::span<const float> cost_ms() const { return cost_ms_; }
  [[nodiscard]] std::span<const std::int64_t> dim_sums() const { return dim_sum_; }

  /// Pieces placed since construction.
  [[nodiscard]] std::uint64_t steps() const { return steps_; }

 private:
  void take_back_to(std::size_t step);

  struct Step {
    std::uint32_t device;
    ShardStates::Id state_before;
    float cost_before_ms;
  };

  const CpuKernels& kernels_;
  ShardStates& states_;
  const PlacementProblem& problem_;
  std::span<const std::uint32_t> order_;
  std::vector<ShardStates::Id> state_;
  std::vector<float> cost_ms_;
  std::vector<std::int64_t> memory_;
  std::vector<std::int64_t> dim_sum_;
  std::vector<Step> trace_;
  std::vector<std::int64_t> dim_after_;  ///< Dim sum of the chosen device after each step.
  std::size_t placed_ = 0;               ///< Steps that stand.
  bool no_room_ = false;
  std::uint64_t steps_ = 0;
};

}  // namespace neuroshard
