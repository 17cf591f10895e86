#pragma once

#include <array>

#include "core/policies/policy_parts.h"
#include "core/policies/policy_run.h"

namespace neuroshard {

/// The state of both layers of an LSTM.
struct LstmState {
  using Layers = std::array<std::array<float, kPolicyState>, kMemoryLayers>;
  Layers hidden{};
  Layers cell{};
};

/// Updates a cell by its gates i, f, g, o: [4 * kPolicyState], as torch has them.
void update_cell(const float* gates, float* cell, float* hidden);

/// AutoShard on one task.
class AutoshardRun final : public PolicyRun {
 public:
  /// Borrows all but `tables`.
  AutoshardRun(const CpuKernels& kernels, const PackedAutoshard& networks,
               std::span<const Table> tables, std::size_t devices);

  [[nodiscard]] std::span<const float> logits() override;
  void place(std::size_t device) override;

  /// Predicted for a table alone, ms.
  [[nodiscard]] float table_ms(std::size_t table) const { return table_ms_[table]; }
  /// Predicted ms, and GiB, of the tables that are on `device` by now.
  [[nodiscard]] std::array<float, 2> load(std::size_t device) const {
    return {loads_[device * kLanes], loads_[device * kLanes + 1]};
  }
  /// After logits(): what is expected of the episode, and the state behind it.
  [[nodiscard]] float baseline();
  [[nodiscard]] const LstmState& state() const { return state_; }

 private:
  void step_memory();
  void look_at(std::size_t device);

  const CpuKernels& kernels_;
  MlpRunner progress_;
  std::array<MlpRunner, kMemoryLayers> memory_;
  MlpRunner baseline_;
  MlpRunner load_;
  MlpRunner choice_;
  MlpRunner cost_;
  std::size_t devices_;
  std::size_t placed_ = 0;
  bool has_logits_ = false;
  LstmState state_;
  std::vector<float> gib_;              ///< [tables]
  AlignedVector<float> embeddings_;     ///< [tables + 1, kPolicyEmbedding]: the last of features 0.
  AlignedVector<float> cost_sums_;      ///< [devices, kPolicyEmbedding]
  AlignedVector<float> loads_;          ///< [devices, kLanes]: ms, GiB, zeros.
  AlignedVector<float> device_inputs_;  ///< [devices, kPolicyState]: sum of embeddings, load.
  AlignedVector<float> choice_inputs_;  ///< [devices, 3 kPolicyState]
  std::vector<float> table_ms_;
  std::vector<float> logits_;
};

}  // namespace neuroshard
