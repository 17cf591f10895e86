#pragma once

#include <memory>
#include <vector>

#include "core/models/packed_models.h"
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
  /// By the last run of the placement.
  double final_cost_ms();

  PlacementProblem problem_;
  GreedyPlacement placement_;
  std::unique_ptr<CostRunner> models_;
  std::vector<float> backward_ms_;
  std::vector<float> offsets_ms_;
  std::vector<float> forward_ms_;
  PlacementCounters counters_;
};

}  // namespace neuroshard
