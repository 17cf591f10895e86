#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "core/models/mlp_runner.h"
#include "core/models/packed_mlp.h"
#include "core/policies/policy_parts.h"
#include "neuroshard/placement_policy.h"
#include "neuroshard/task.h"

namespace neuroshard {

/// A policy that places the tables of one task, on one thread.
class PolicyRun {
 public:
  virtual ~PolicyRun() = default;

  /// The tables in the order in which they are placed: that of their own predicted costs, dearest
  /// first.
  [[nodiscard]] const std::vector<std::size_t>& order() const { return order_; }
  /// [devices]: how well the next table is on each, whether it has room or not. Good until place().
  [[nodiscard]] virtual std::span<const float> logits() = 0;
  /// Puts the next table on `device`.
  virtual void place(std::size_t device) = 0;

 protected:
  std::vector<std::size_t> order_;
};

/// The networks of a policy as kernels read them.
template <typename Policy>
class PackedNetworks {
 public:
  explicit PackedNetworks(const Policy& policy) {
    for (const PolicyPart<Policy>& part : policy_parts<Policy>()) {
      networks_.emplace_back(policy.*part.network);
    }
  }

  /// Borrows this, and `kernels`.
  [[nodiscard]] MlpRunner runner(Mlp Policy::*network, const CpuKernels& kernels,
                                 int most_rows = MlpRunner::kBlockRows) const {
    const auto parts = policy_parts<Policy>();
    const auto part = std::ranges::find(parts, network, &PolicyPart<Policy>::network);
    const PackedMlp& packed = networks_[static_cast<std::size_t>(part - parts.begin())];
    return {kernels, packed, part->relu_after_last, most_rows};
  }

 private:
  std::vector<PackedMlp> networks_;  ///< In the order of policy_parts().
};

using PackedDreamshard = PackedNetworks<DreamshardPolicy>;

struct PackedAutoshard : PackedNetworks<AutoshardPolicy> {
  explicit PackedAutoshard(const AutoshardPolicy& policy)
      : PackedNetworks(policy), features(policy.features) {}
  Normalization features;
};

/// A policy that is ready to place. Immutable: share one between threads.
class PackedPolicy {
 public:
  /// Borrows `kernels`.
  PackedPolicy(const CpuKernels& kernels, const PlacementPolicy& policy);

  /// For one task. Borrows this.
  [[nodiscard]] std::unique_ptr<PolicyRun> start(std::span<const Table> tables,
                                                 std::size_t devices) const;

 private:
  const CpuKernels& kernels_;
  std::variant<PackedDreamshard, PackedAutoshard> networks_;
};

/// Indices of `costs`, largest first; equal ones stay in order.
[[nodiscard]] std::vector<std::size_t> dearest_first(std::span<const float> costs);

}  // namespace neuroshard
