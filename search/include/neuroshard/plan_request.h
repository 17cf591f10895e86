#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>

#include "neuroshard/plan.h"
#include "neuroshard/search_options.h"

namespace neuroshard {

/// A plan that is better than all before it.
struct Improvement {
  const Plan& plan;
  const PlanCost& cost;
  double elapsed_ms = 0.0;                    ///< Since the search began.
  SearchStage stage = SearchStage::kUniform;  ///< Which found it.
};

/// What a caller asks of one plan beside the task. Algorithm::kPublished and the baselines know of
/// none of it.
struct PlanRequest {
  /// When to return with the best plan found so far.
  std::optional<std::chrono::steady_clock::time_point> deadline{};
  /// Another way to end early: the search looks at it after some tenths of a millisecond.
  std::stop_token stop{};
  /// How many other plans to return, the best ones that the search came across. 0 to 1,000.
  int alternatives = 0;
  /// Called on the planning thread for each better plan, from the first one on. An exception that
  /// it throws ends the search and reaches the caller.
  std::function<void(const Improvement&)> on_improvement{};
};

}  // namespace neuroshard
