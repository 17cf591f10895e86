#pragma once

#include "core/models/comm_runner.h"
#include "core/models/mlp_runner.h"
#include "core/models/packed_models.h"
#include "neuroshard/aligned_vector.h"
#include "neuroshard/cost_runner.h"

namespace neuroshard {

/// Cost models by the CPU's kernels.
class CpuCostRunner final : public CostRunner {
 public:
  /// Borrows `kernels` and `models`.
  CpuCostRunner(const CpuKernels& kernels, const PackedModels& models, int devices);

  void compute(std::span<const float> sums, std::span<float> cost_ms) override;
  void forward(std::span<const float> dim_sums, std::span<const float> start_offsets_ms,
               std::span<float> cost_ms) override;
  void backward(std::span<const float> dim_sums, std::span<float> cost_ms) override;
  [[nodiscard]] bool symmetric() const override { return comm_.forward.symmetric; }
  void forward_rows(std::span<const float> features, std::span<float> cost_ms) override;
  void backward_rows(std::span<const float> features, std::span<float> cost_ms) override;

 private:
  /// Few rows go one beside another through registers of outputs, many side by side, a register of
  /// rows; the results are the same to the last bit.
  void run_rows(const PackedCommNetwork& network, MlpRunner& runner,
                std::span<const float> features, std::span<float> cost_ms);
  void run_columns(const PackedCommNetwork& network, std::span<const float> features,
                   std::span<float> cost_ms);

  const CpuKernels& kernels_;
  const PackedCommModel& comm_;
  int width_;  ///< Floats of an embedding.
  MlpRunner head_;
  CommRunner forward_;
  CommRunner backward_;
  MlpRunner forward_rows_;
  MlpRunner backward_rows_;
  AlignedVector<float> rows_;  ///< Normalised features of a block of rows.
  AlignedVector<float> columns_;
  AlignedVector<float> scratch_[2];
  std::vector<PackedLayerView> layers_;
};

}  // namespace neuroshard
