#include "core/policies/policy_run.h"

#include <algorithm>

#include "core/base/count_up.h"
#include "core/policies/autoshard_run.h"
#include "core/policies/dreamshard_run.h"
#include "core/policies/policy_parts.h"

namespace neuroshard {
namespace {

/// `network` of `policy`, by what the list of its networks says of it.
template <typename Policy>
PackedPart packed(const Policy& policy, Mlp Policy::*network) {
  const auto parts = policy_parts<Policy>();
  const auto part = std::ranges::find(parts, network, &PolicyPart<Policy>::network);
  return {PackedMlp(policy.*network), part->relu_after_last};
}

}  // namespace

PackedDreamshard::PackedDreamshard(const DreamshardPolicy& policy)
    : cost_tables(packed(policy, &DreamshardPolicy::cost_tables)),
      forward(packed(policy, &DreamshardPolicy::forward)),
      communication(packed(policy, &DreamshardPolicy::communication)),
      backward(packed(policy, &DreamshardPolicy::backward)),
      overall(packed(policy, &DreamshardPolicy::overall)),
      cost_features(packed(policy, &DreamshardPolicy::cost_features)),
      policy_tables(packed(policy, &DreamshardPolicy::policy_tables)),
      choice(packed(policy, &DreamshardPolicy::choice)) {}

PackedAutoshard::PackedAutoshard(const AutoshardPolicy& policy)
    : features(policy.features),
      tables(packed(policy, &AutoshardPolicy::tables)),
      progress(packed(policy, &AutoshardPolicy::progress)),
      memory_0(packed(policy, &AutoshardPolicy::memory_0)),
      memory_1(packed(policy, &AutoshardPolicy::memory_1)),
      baseline(packed(policy, &AutoshardPolicy::baseline)),
      load(packed(policy, &AutoshardPolicy::load)),
      choice(packed(policy, &AutoshardPolicy::choice)),
      cost(packed(policy, &AutoshardPolicy::cost)) {}

PackedPolicy::PackedPolicy(const CpuKernels& kernels, const PlacementPolicy& policy)
    : kernels_(kernels),
      networks_(std::visit(
          [](const auto& networks) -> std::variant<PackedDreamshard, PackedAutoshard> {
            if constexpr (std::is_same_v<decltype(networks), const DreamshardPolicy&>) {
              return PackedDreamshard(networks);
            } else {
              return PackedAutoshard(networks);
            }
          },
          policy.networks)) {}

std::unique_ptr<PolicyRun> PackedPolicy::start(std::span<const Table> tables,
                                               std::size_t devices) const {
  if (const auto* dreamshard = std::get_if<PackedDreamshard>(&networks_)) {
    return std::make_unique<DreamshardRun>(kernels_, *dreamshard, tables, devices);
  }
  return std::make_unique<AutoshardRun>(kernels_, std::get<PackedAutoshard>(networks_), tables,
                                        devices);
}

std::vector<std::size_t> dearest_first(std::span<const float> costs) {
  std::vector<std::size_t> order = count_up<std::size_t>(costs.size());
  std::ranges::stable_sort(order, std::ranges::greater(), [&](std::size_t i) { return costs[i]; });
  return order;
}

}  // namespace neuroshard
