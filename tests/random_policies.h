#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "neuroshard/placement_policy.h"
#include "neuroshard/search_options.h"

namespace neuroshard::testing {

/// A file of tests/data/policies.
[[nodiscard]] std::string policy_path(const std::string& name);

/// Networks with random weights for `algorithm`; null if it needs none.
[[nodiscard]] std::shared_ptr<const PlacementPolicy> random_policy(Algorithm algorithm,
                                                                   std::uint64_t seed = 1);

}  // namespace neuroshard::testing
