#pragma once

#include <cstdint>
#include <vector>

#include "neuroshard/backend.h"
#include "neuroshard/plan.h"
#include "neuroshard/task.h"

namespace neuroshard {

/// A table that may be replicated.
struct ReplicaCandidate {
  std::uint32_t table = 0;
  /// About what the plan saves if the table's slices go, over what its replicas cost.
  double gain = 0.0;
};

/// All tables that rules and memory let be replicated, by falling gain. What a table's slices take
/// is taken to be shared out evenly over the devices of a plan that costs `sharded`: its operator,
/// and its columns at the price that one more has in the all-to-alls. On one device, or on devices
/// of different speeds: none.
[[nodiscard]] std::vector<ReplicaCandidate> replica_candidates(const Backend& backend,
                                                               const Task& task,
                                                               const PlanCost& sharded);

}  // namespace neuroshard
