#pragma once

#include "core/models/packed_models.h"
#include "core/placement/session_pool.h"
#include "neuroshard/backend.h"

namespace neuroshard {

/// The CPU backends, which differ in their set of kernels.
class CpuBackend final : public Backend {
 public:
  CpuBackend(const CpuKernels& kernels, const CostModels& models, bool reuse_work);

  [[nodiscard]] std::string_view name() const override { return kernels_.name; }
  void embed_pieces(std::span<const float> features, std::span<float> embeddings) const override;
  void score_shards(std::span<const float> embeddings, const ShardBatch& shards,
                    std::span<float> cost_ms) const override;
  void forward_comm(int devices, std::span<const float> dim_sums,
                    std::span<const float> start_offsets_ms,
                    std::span<float> cost_ms) const override;
  void backward_comm(int devices, std::span<const float> dim_sums,
                     std::span<float> cost_ms) const override;
  [[nodiscard]] std::unique_ptr<CostRunner> cost_runner(int devices) const override;
  [[nodiscard]] std::unique_ptr<PlacementSession> start(
      const PlacementProblem& problem) const override;

  [[nodiscard]] const CpuKernels& kernels() const { return kernels_; }
  [[nodiscard]] const PackedModels& models() const { return models_; }

 private:
  const CpuKernels& kernels_;
  PackedModels models_;
  bool reuse_work_;
  mutable SessionPool sessions_;  ///< Locks itself.
};

}  // namespace neuroshard
