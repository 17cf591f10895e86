#pragma once

#include <array>

#include "neuroshard/placement_policy.h"
#include "weights/training/policies/policy_trainee.h"

namespace neuroshard::training {

/// Placements and single devices whose costs are known. Rows are of `features`, the first of which
/// is zeros.
struct DreamshardCostBatch {
  struct Placement {
    std::size_t first_shard;
    std::size_t devices;
    double cost_ms;
  };
  struct Device {
    std::size_t shard;
    std::array<double, 3> ms;  ///< Forward, communication, backward.
  };
  std::vector<std::vector<std::uint32_t>>
      shards;  ///< Rows of each; none: kZeroRow is in its place.
  std::vector<Placement> placements;
  std::vector<Device> devices;
};

/// One episode on the networks' own estimate of costs.
struct DreamshardEpisode {
  std::vector<std::uint32_t> rows;     ///< In the order in which they were placed.
  std::vector<std::uint32_t> devices;  ///< On which.
  double reward = 0.0;
};

/// DreamShard's two steps, after its published code (docs/learned_strategies.md).
class DreamshardTrainee : public PolicyTrainee<DreamshardPolicy> {
 public:
  using PolicyTrainee::PolicyTrainee;

  /// Mean squared errors, before the step.
  struct CostLosses {
    double overall = 0.0;
    std::array<double, 3> device{};
    [[nodiscard]] double sum() const { return overall + device[0] + device[1] + device[2]; }
  };
  CostLosses step_costs(std::span<const float> features, const DreamshardCostBatch& batch,
                        double learning_rate);

  struct PolicyLosses {
    double policy = 0.0;
    double negative_entropy = 0.0;  ///< Its weight in the loss is 0.001.
  };
  /// Episodes of one task on so many devices.
  PolicyLosses step_policy(std::span<const float> features, std::size_t devices,
                           std::span<const DreamshardEpisode> episodes, double learning_rate);
};

}  // namespace neuroshard::training
