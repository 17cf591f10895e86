#pragma once

#include <optional>

#include "core/policies/policy_run.h"
#include "neuroshard/plan.h"
#include "neuroshard/search_options.h"
#include "neuroshard/stop_condition.h"
#include "neuroshard/task.h"

namespace neuroshard {

/// Whether tables are placed by PlannerOptions::policy.
[[nodiscard]] constexpr bool is_learned(Algorithm algorithm) {
  return algorithm == Algorithm::kDreamshard || algorithm == Algorithm::kAutoshard;
}

/// Whole tables in the policy's order, each on the device of the highest logit among those that
/// have room and that the rules of the table allow; the first one of equals. Nothing if none has
/// room for some table, or at `stop`. Bundles of tables that groups keep together are one table,
/// with the sums of their figures.
[[nodiscard]] std::optional<Plan> place_by_policy(const PackedPolicy& policy, const Task& task,
                                                  const StopCondition& stop = {});

}  // namespace neuroshard
