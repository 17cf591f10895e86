#include "random_policies.h"

#include <cmath>

#include "core/base/random.h"
#include "core/policies/policy_parts.h"

namespace neuroshard::testing {
namespace {

template <typename Policy>
Policy random_networks(Random& random) {
  Policy policy;
  for (const PolicyPart<Policy>& part : policy_parts<Policy>()) {
    for (std::size_t k = 0; k + 1 < part.widths.size(); ++k) {
      DenseLayer layer{part.widths[k], part.widths[k + 1], {}, {}};
      const double bound = 1.0 / std::sqrt(static_cast<double>(layer.inputs));
      const auto draw = [&] { return static_cast<float>(bound * (2.0 * random.uniform() - 1.0)); };
      for (int i = 0; i < layer.inputs * layer.outputs; ++i) layer.weight.push_back(draw());
      for (int i = 0; i < layer.outputs; ++i) layer.bias.push_back(draw());
      (policy.*part.network).layers.push_back(std::move(layer));
    }
  }
  return policy;
}

}  // namespace

std::string policy_path(const std::string& name) {
  return std::string(NEUROSHARD_TEST_DATA) + "/policies/" + name;
}

std::shared_ptr<const PlacementPolicy> random_policy(Algorithm algorithm, std::uint64_t seed) {
  Random random(seed);
  PlacementPolicy policy;
  if (algorithm == Algorithm::kDreamshard) {
    policy.networks = random_networks<DreamshardPolicy>(random);
  } else if (algorithm == Algorithm::kAutoshard) {
    auto networks = random_networks<AutoshardPolicy>(random);
    networks.features = {{64.0F, 2e6F, 15.0F}, {40.0F, 4e6F, 20.0F}};
    policy.networks = std::move(networks);
  } else {
    return nullptr;
  }
  return std::make_shared<const PlacementPolicy>(std::move(policy));
}

}  // namespace neuroshard::testing
