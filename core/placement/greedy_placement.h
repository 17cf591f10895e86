#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/models/mlp_runner.h"
#include "core/models/packed_models.h"
#include "neuroshard/backend.h"

namespace neuroshard {

/// Pieces that are placed between two looks at the stop condition: some ten microseconds.
inline constexpr std::size_t kStepsBetweenStops = 128;

/// The published greedy placement, step by step: every piece goes to the device with the lowest
/// predicted compute cost (then memory, then index) that has room for it. Remembers nothing between
/// runs; the other ways of running it are tested against this one. One per thread.
class GreedyPlacement {
 public:
  /// Borrows all three.
  GreedyPlacement(const CpuKernels& kernels, const PackedComputeModel& model,
                  const PlacementProblem& problem);

  /// Places `order` (piece ids) with at most `dim_limit` columns a device. False if some piece fits
  /// nowhere, or the problem's stop condition is reached; the accessors are then meaningless.
  bool run(std::span<const std::uint32_t> order, std::int64_t dim_limit);

  /// Device of each entry of the order of the last run.
  [[nodiscard]] std::span<const std::int32_t> device_of() const { return device_of_; }
  /// Predicted compute cost of each device, with base load and speed; head(0) for an empty one.
  [[nodiscard]] std::span<const float> compute_ms() const { return compute_ms_; }
  [[nodiscard]] std::span<const float> dim_sums() const { return dim_sums_; }
  [[nodiscard]] std::uint64_t head_evaluations() const { return head_evaluations_; }

 private:
  /// The choice of CpuKernels::choose_device among the devices that a piece may go to.
  [[nodiscard]] int choose_allowed(std::uint32_t piece, std::int64_t max_memory,
                                   std::int64_t max_dim_sum) const;

  const CpuKernels& kernels_;
  const PlacementProblem& problem_;
  int width_;  ///< Floats of an embedding.
  MlpRunner head_;
  float empty_ms_ = 0.0F;  ///< head(0)
  std::vector<float> cost_ms_;
  mutable std::vector<float> allowed_ms_;  ///< Scratch of choose_allowed().
  std::vector<std::int64_t> memory_;
  std::vector<std::int64_t> dim_sum_;
  AlignedVector<float> sums_;  ///< [devices, width]
  std::vector<std::int32_t> device_of_;
  std::vector<float> compute_ms_;
  std::vector<float> dim_sums_;
  std::uint64_t head_evaluations_ = 0;
};

}  // namespace neuroshard
