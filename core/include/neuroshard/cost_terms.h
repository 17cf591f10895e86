#pragma once

#include <string_view>
#include <vector>

#include "neuroshard/plan.h"

#pragma GCC visibility push(default)
namespace neuroshard {

/// One of the summands of DeviceCost::total_ms(), which is their sum less
/// DeviceCost::hidden_ms and hidden_fetch_ms.
struct CostTerm {
  std::string_view name;   ///< "compute", "forward", "backward", "ids", "all_reduce", "dense".
  double DeviceCost::*ms;  ///< Milliseconds.
};

/// Lists the terms of a plan. The first three are always there; the others are if its cost models
/// price them, or its task states them, and they are not 0 on all devices.
[[nodiscard]] std::vector<CostTerm> cost_terms(const PlanCost& cost);

}  // namespace neuroshard
#pragma GCC visibility pop
