#pragma once

#include <array>

#include "core/policies/policy_run.h"

namespace neuroshard {

/// Forward, communication and backward, in ms.
using DreamshardCosts = std::array<float, 3>;

/// DreamShard on one task. A device's logit depends on its own tables alone, so that a placement
/// changes one of them.
class DreamshardRun final : public PolicyRun {
 public:
  /// Borrows all but `tables`.
  DreamshardRun(const CpuKernels& kernels, const PackedDreamshard& networks,
                std::span<const Table> tables, std::size_t devices);

  [[nodiscard]] std::span<const float> logits() override { return logits_; }
  void place(std::size_t device) override;

  /// Predicted for a table alone.
  [[nodiscard]] const DreamshardCosts& table_costs(std::size_t table) const {
    return table_costs_[table];
  }
  /// Predicted for the plan so far, ms.
  [[nodiscard]] float overall_ms();

 private:
  [[nodiscard]] DreamshardCosts costs_of(const float* cost_sum);
  /// Logit of `device` anew.
  void look_at(std::size_t device);

  const CpuKernels& kernels_;
  std::array<MlpRunner, 3> heads_;
  MlpRunner overall_;
  MlpRunner cost_features_;
  MlpRunner choice_;
  std::size_t devices_;
  std::size_t placed_ = 0;
  // Rows of kPolicyEmbedding floats.
  AlignedVector<float> cost_tables_;    ///< [tables + 1]: the last one of features 0.
  AlignedVector<float> policy_tables_;  ///< The like for the choice.
  AlignedVector<float> cost_sums_;      ///< [devices]
  AlignedVector<float> choice_inputs_;  ///< [devices, 2 rows]: sum for the choice, cost features.
  std::vector<DreamshardCosts> table_costs_;
  std::vector<bool> is_empty_;
  std::vector<float> logits_;
};

}  // namespace neuroshard
