#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/placement/device_board.h"
#include "core/placement/shard_states.h"

namespace neuroshard {

/// Greedy placements of one candidate under all dim limits. The limits share most of their work: a
/// run under a tighter limit takes the same steps as the run under a looser one, until that one
/// exceeds the tighter limit; so runs go from loose to tight, and each takes back only the steps
/// after that point. A run that can no longer succeed ends as soon as that is certain.
class GridPlacement {
 public:
  /// Borrows all three.
  GridPlacement(const CpuKernels& kernels, ShardStates& states, const PlacementProblem& problem);

  /// Call when the problem has become another one for as many devices.
  void reset() { board_.use(problem_.rules); }

  /// Starts a candidate: `order` is of piece ids.
  void start(std::span<const std::uint32_t> order);

  enum class Outcome {
    kPlaced,
    kNoRoom,     ///< Some piece fits nowhere.
    kUnchanged,  ///< The last run already keeps to this limit: its outcome is that of this one.
    kStopped     ///< The problem's stop condition is reached.
  };
  /// `dim_limit` is no higher than in the last run of this candidate.
  Outcome run(std::int64_t dim_limit);

  /// State of each device after a run that placed everything.
  [[nodiscard]] std::span<const ShardStates::Id> states() const { return state_; }
  /// Compute costs without base loads and speeds, 0 for an empty device.
  [[nodiscard]] std::span<const float> cost_ms() const { return board_.cost_ms(); }
  [[nodiscard]] std::span<const std::int64_t> dim_sums() const { return board_.dim_sums(); }
  /// Device of each piece of the order, after a run that placed everything.
  [[nodiscard]] std::vector<std::uint32_t> devices() const;
  [[nodiscard]] std::size_t held_bytes() const;

 private:
  void take_back_to(std::size_t step);
  [[nodiscard]] bool lacks_room(std::int64_t dim_limit) const;

  struct Position {
    std::uint32_t piece;
    std::int32_t dim;
    std::int64_t size;
    std::int32_t min_dim_after;  ///< Least of the pieces still to come.
    std::int64_t min_size_after;
  };
  struct Step {
    std::uint32_t device;
    ShardStates::Id state_before;
    float cost_before_ms;
    bool retired;
  };
  /// Totals over a candidate's pieces.
  struct Totals {
    std::int64_t dim = 0;
    std::int64_t size = 0;
    std::int64_t max_size = 0;
    std::int32_t max_dim = 0;
    std::int64_t dim_unit = 1;  ///< A power of two that divides every dim.
  };

  ShardStates& states_;
  const PlacementProblem& problem_;
  DeviceBoard board_;
  std::vector<ShardStates::Id> state_;
  std::vector<Position> order_;
  Totals totals_;
  std::int64_t memory_limit_ = 0;  ///< Limit of a device; no more than all pieces together.
  std::vector<Step> trace_;
  /// The highest dim sum that a step up to this one led to.
  std::vector<std::int64_t> highest_dim_sum_;
  std::size_t placed_ = 0;  ///< Steps that stand.
  bool started_ = false;    ///< Whether this candidate has had a run.
  // Devices that are too full for the smallest piece still to come.
  std::int64_t retired_ = 0;
  std::int64_t retired_dim_sum_ = 0;
  std::int64_t retired_memory_ = 0;
};

}  // namespace neuroshard
