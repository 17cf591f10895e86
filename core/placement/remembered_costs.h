#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/models/comm_runner.h"
#include "core/models/packed_models.h"
#include "core/tables/row_ids.h"
#include "neuroshard/stop_condition.h"

namespace neuroshard {

/// Final costs of finished placements. Placements that end in the same shards are scored once; the
/// backward model, which sees dim sums only, runs once per distinct row of them.
class RememberedCosts {
 public:
  /// Borrows both.
  RememberedCosts(const CpuKernels& kernels, const PackedCommModel& comm, int devices);

  /// Notes a placement by its shards: `states` tells two of them apart, `compute_ms` and `dim_sums`
  /// are what the models see; each [devices]. The number that it returns has a cost after
  /// score_noted().
  std::uint32_t note(std::span<const std::uint32_t> states, std::span<const float> compute_ms,
                     std::span<const std::uint32_t> dim_sums);
  /// Scores all placements noted since the last call, in batches. Placements not scored when `stop`
  /// (null: never) is reached get an infinite cost.
  void score_noted(const StopCondition* stop = nullptr);
  [[nodiscard]] double cost_ms(std::uint32_t placement) const { return cost_ms_[placement]; }

  /// Placements so far, each scored once.
  [[nodiscard]] std::size_t size() const { return placements_.size(); }
  /// Memory of what is remembered.
  [[nodiscard]] std::size_t bytes() const;
  /// Memory held, used or not.
  [[nodiscard]] std::size_t held_bytes() const;
  /// Forgets everything, once nothing noted is unscored; keeps the memory.
  void clear();

 private:
  void score_backward(const StopCondition* stop);

  int devices_;
  CommRunner forward_;
  CommRunner backward_;
  RowIds placements_;                         ///< By states.
  RowIds dim_rows_;                           ///< By dim sums.
  std::vector<double> cost_ms_;               ///< Cost of each placement.
  std::vector<float> backward_ms_;            ///< [dim rows, devices]
  std::vector<std::uint32_t> noted_dim_row_;  ///< Dim row of each placement to be scored.
  std::vector<float> noted_compute_ms_;       ///< [placements to be scored, devices]
  std::vector<float> dim_sums_;               ///< Scratch of one batch, as the other two.
  std::vector<float> offsets_ms_;
  std::vector<float> forward_ms_;
};

}  // namespace neuroshard
