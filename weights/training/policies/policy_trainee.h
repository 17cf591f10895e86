#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "core/policies/policy_parts.h"
#include "weights/training/policies/part_trainee.h"

namespace neuroshard::training {

/// Weight of the negative entropy in the loss of both policies.
inline constexpr double kEntropyWeight = 0.001;

/// All networks of a policy, in training.
template <typename Policy>
class PolicyTrainee {
 public:
  explicit PolicyTrainee(const Policy& start) {
    for (const PolicyPart<Policy>& part : policy_parts<Policy>()) {
      parts_.emplace_back(start.*part.network, part.relu_after_last);
    }
  }

  /// In the order of policy_parts().
  [[nodiscard]] std::vector<PartTrainee>& parts() { return parts_; }

  [[nodiscard]] Policy networks() const {
    Policy policy;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      policy.*policy_parts<Policy>()[i].network = parts_[i].network().to_mlp();
    }
    return policy;
  }

  void visit_state(StateVisitor& visitor) {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      parts_[i].visit_state(std::string(policy_parts<Policy>()[i].name), visitor);
    }
  }

 protected:
  [[nodiscard]] PartTrainee& part(Mlp Policy::*network) {
    const auto list = policy_parts<Policy>();
    const auto found = std::ranges::find(list, network, &PolicyPart<Policy>::network);
    return parts_[static_cast<std::size_t>(found - list.begin())];
  }

 private:
  std::vector<PartTrainee> parts_;
};

}  // namespace neuroshard::training
