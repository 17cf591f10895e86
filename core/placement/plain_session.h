#pragma once

#include "core/models/final_cost.h"
#include "core/placement/greedy_placement.h"

namespace neuroshard {

/// Runs every placement anew. Sessions that remember are compared with it, in results and speed.
class PlainSession final : public PlacementSession {
 public:
  /// Borrows `kernels` and `models`.
  PlainSession(const CpuKernels& kernels, const PackedModels& models, PlacementProblem problem);

  void place(const CandidateBatch& candidates, std::span<CandidateResult> results) override;
  [[nodiscard]] std::optional<std::vector<std::uint32_t>> assignments(
      std::span<const std::uint32_t> pieces, int limit) override;
  [[nodiscard]] PlacementCounters counters() const override;

 private:
  PlacementProblem problem_;
  GreedyPlacement placement_;
  FinalCostRunner final_cost_;
  PlacementCounters counters_;
};

}  // namespace neuroshard
