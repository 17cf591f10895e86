#pragma once

#include <cstdint>
#include <functional>

#include "core/base/random.h"
#include "neuroshard/plan.h"
#include "neuroshard/task.h"

namespace neuroshard::bench {

/// Prices a plan, and says whether it fits.
using PlanPrice = std::function<PlanCost(const Plan&)>;

struct JudgeOptions {
  double seconds = 20.0;
  std::uint64_t seed = 1;
  int rounds = 3;         ///< Rounds of annealing, each from the best plan so far.
  double hottest = 1e-2;  ///< Temperatures as shares of the cost.
  double coldest = 1e-5;
};

struct Judged {
  Plan plan;
  double cost_ms = 0.0;
  std::int64_t priced = 0;  ///< Plans.
};

/// The cheapest plan that general annealing finds from `start`, a plan of `task` that fits, which
/// has no rules, groups or links. It knows slices of any width, row blocks on all devices and on
/// nodes, grids and replicas, and prices each plan as a whole by `price`: it shares nothing with
/// the planner that it judges.
[[nodiscard]] Judged judge(const Task& task, const Plan& start, const PlanPrice& price,
                           const JudgeOptions& options);

}  // namespace neuroshard::bench
