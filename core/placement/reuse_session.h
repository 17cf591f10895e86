#pragma once

#include "core/placement/grid_placement.h"
#include "core/placement/remembered_costs.h"
#include "core/placement/shard_states.h"
#include "core/tables/row_ids.h"

namespace neuroshard {

/// A session that computes nothing twice. Its results equal those of PlainSession bit for bit.
/// After an exception it must not be used again: what it remembers may be half written.
class ReuseSession final : public PlacementSession {
 public:
  /// Borrows `kernels` and `models`. `most_state_bytes`: when shard states take more, all are
  /// forgotten; those of one candidate may.
  ReuseSession(const CpuKernels& kernels, const PackedModels& models,
               const PlacementProblem& problem,
               std::size_t most_state_bytes = ShardStates::kMostBytes);

  /// Starts anew with another problem for as many devices; keeps the memory.
  void reset(const PlacementProblem& problem);

  [[nodiscard]] int devices() const { return problem_.devices; }
  /// Memory held, used or not.
  [[nodiscard]] std::size_t held_bytes() const;

  void place(const CandidateBatch& candidates, std::span<CandidateResult> results) override;
  [[nodiscard]] std::optional<std::vector<std::uint32_t>> assignments(
      std::span<const std::uint32_t> pieces, int limit) override;
  [[nodiscard]] PlacementCounters counters() const override;

 private:
  void place_under_all_limits(std::span<const std::uint32_t> order);
  std::uint32_t note_placement();
  [[nodiscard]] bool full(std::size_t pieces) const;
  void forget();

  static constexpr std::uint32_t kNoPlacement = ~std::uint32_t{0};

  PlacementProblem problem_;
  float empty_ms_ = 0.0F;  ///< head(0)
  ShardStates states_;
  GridPlacement grid_;
  RememberedCosts costs_;
  RowIds orders_;                            ///< Candidates by their ordered pieces.
  std::vector<CandidateResult> results_;     ///< Result of each order that is scored.
  std::vector<std::uint32_t> order_of_;      ///< Order of each candidate of the batch.
  std::vector<std::uint32_t> placement_of_;  ///< [orders of the batch, dim limits]
  std::vector<float> compute_ms_;
  std::vector<std::uint32_t> dim_sums_;
  PlacementCounters counters_;  ///< Without what is still remembered.
};

}  // namespace neuroshard
