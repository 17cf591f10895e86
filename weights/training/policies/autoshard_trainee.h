#pragma once

#include <array>

#include "core/policies/autoshard_run.h"
#include "neuroshard/placement_policy.h"
#include "weights/training/policies/policy_trainee.h"

namespace neuroshard::training {

/// An action of an actor, with all that it saw before. Rows are of features, the first of which
/// is zeros.
struct AutoshardStep {
  std::uint32_t row = kZeroRow;  ///< The table to be placed.
  float progress = 0.0F;
  bool begins_episode = false;
  std::vector<std::vector<std::uint32_t>> on_device;  ///< [devices]
  std::vector<std::array<float, 2>> loads;            ///< [devices]: predicted ms, GiB.
  std::uint32_t action = 0;
  double log_probability = 0.0;  ///< That it had when it was taken.
  double reward = 0.0;           ///< After it.
};

/// Steps of one actor, one after the other; the last is only looked at.
struct AutoshardRollout {
  LstmState start{};
  std::vector<AutoshardStep> steps;
};

/// AutoShard's two steps, after its published code (docs/learned_strategies.md).
class AutoshardTrainee : public PolicyTrainee<AutoshardPolicy> {
 public:
  using PolicyTrainee::PolicyTrainee;

  struct PolicyLosses {
    double policy = 0.0;
    double baseline = 0.0;
    double entropy = 0.0;
  };
  /// Rollouts of equal length.
  PolicyLosses step_policy(std::span<const float> features,
                           std::span<const AutoshardRollout> rollouts, double learning_rate);

  /// Mean squared error of the costs of shards, before the step.
  double step_costs(std::span<const float> features,
                    std::span<const std::vector<std::uint32_t>> shards,
                    std::span<const double> cost_ms, double learning_rate);

 private:
  struct Cells;

  [[nodiscard]] std::array<PartTrainee*, kMemoryLayers> memory();
  /// Runs the LSTM: fills `cells` from the inputs of layer 0.
  void run_memory(std::span<const AutoshardRollout> rollouts, Cells& cells);
  /// From `gradients` of the states [rows, kPolicyState] to those of layer 0's inputs.
  void run_memory_backward(std::span<const AutoshardRollout> rollouts, const Cells& cells,
                           AlignedVector<float>& gradients);
};

}  // namespace neuroshard::training
