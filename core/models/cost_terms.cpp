#include "neuroshard/cost_terms.h"

#include <algorithm>
#include <array>

namespace neuroshard {

std::vector<CostTerm> cost_terms(const PlanCost& cost) {
  std::vector<CostTerm> terms = {{"compute", &DeviceCost::compute_ms},
                                 {"forward", &DeviceCost::forward_ms},
                                 {"backward", &DeviceCost::backward_ms}};
  constexpr std::array kOthers = {CostTerm{"ids", &DeviceCost::ids_ms},
                                  CostTerm{"all_reduce", &DeviceCost::all_reduce_ms},
                                  CostTerm{"dense", &DeviceCost::dense_ms}};
  for (const CostTerm& other : kOthers) {
    const bool costs = std::ranges::any_of(
        cost.devices, [&](const DeviceCost& device) { return device.*other.ms != 0.0; });
    if (costs) terms.push_back(other);
  }
  return terms;
}

}  // namespace neuroshard
