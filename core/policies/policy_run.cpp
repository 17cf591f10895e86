#include "core/policies/policy_run.h"

#include <algorithm>

#include "core/base/count_up.h"
#include "core/policies/autoshard_run.h"
#include "core/policies/dreamshard_run.h"

namespace neuroshard {

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
