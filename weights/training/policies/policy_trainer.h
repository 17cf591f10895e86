#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "core/policies/policy_parts.h"
#include "neuroshard/placement_policy.h"
#include "weights/training/policies/policy_tasks.h"
#include "weights/training/trainable_mlp.h"
#include "weights/training/training_state.h"

namespace neuroshard::training {

/// A trainer borrows this.
struct PolicyTraining {
  const std::vector<Task>& tasks;
  const PolicyPrices& prices;
  std::uint64_t seed = 0;
  int iterations = 0;

  /// Learning rates fall along a line to 0.
  [[nodiscard]] double rate_left(double iteration) const { return 1.0 - iteration / iterations; }
};

/// Trains the policy of one algorithm, iteration by iteration. The draws of an iteration depend on
/// its number and the seed alone.
class PolicyTrainer {
 public:
  virtual ~PolicyTrainer() = default;
  virtual void iterate(int iteration) = 0;
  [[nodiscard]] virtual PlacementPolicy policy() const = 0;
  /// The algorithm wants this to be low, ms.
  [[nodiscard]] virtual double cost_ms(const Task& task, const Placement& placement) const = 0;
  virtual void visit_state(StateVisitor& visitor) = 0;
};

[[nodiscard]] std::unique_ptr<PolicyTrainer> make_dreamshard_trainer(
    const PolicyTraining& training);
[[nodiscard]] std::unique_ptr<PolicyTrainer> make_autoshard_trainer(const PolicyTraining& training);

/// Networks as PyTorch would make them.
template <typename Policy>
[[nodiscard]] Policy random_networks(std::uint64_t seed) {
  Random random(seed);
  Policy policy;
  for (const PolicyPart<Policy>& part : policy_parts<Policy>()) {
    policy.*part.network =
        TrainableMlp({part.widths.begin(), part.widths.end()}, part.relu_after_last, random)
            .to_mlp();
  }
  return policy;
}

}  // namespace neuroshard::training
