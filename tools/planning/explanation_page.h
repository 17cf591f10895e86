#pragma once

#include <string>
#include <vector>

#include "neuroshard/explanation.h"
#include "neuroshard/rule_costs.h"
#include "tools/text/text.h"

namespace neuroshard::tools {

/// An explained plan. Borrows.
struct ExplainedPlan {
  const Task& task;
  const std::string& title;
  const std::string& weights;
  const std::vector<std::string>& notes;
  const PlanExplanation& explanation;
  const RuleCosts* rules = nullptr;  ///< Only if asked for.
};

/// The page of `neuroshard explain`: the device that decides, its terms, its slices by what the
/// plan would save without them, and its cuts.
[[nodiscard]] std::string explanation_page(const ExplainedPlan& plan, const TextStyle& style);

/// Everything, as one JSON object; docs/plan_format.md. `indent` as in nlohmann::json::dump.
[[nodiscard]] std::string explanation_json(const ExplainedPlan& plan, int indent);

/// Both of a task that has no plan: why, and which rules leave it without one.
[[nodiscard]] std::string no_plan_rules_page(const Task& task, const std::string& title,
                                             const RuleCosts& rules);
[[nodiscard]] std::string no_plan_rules_json(const Task& task, const std::string& title,
                                             const RuleCosts& rules, int indent);

}  // namespace neuroshard::tools
