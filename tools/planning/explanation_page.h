#pragma once

#include <string>
#include <vector>

#include "neuroshard/explanation.h"
#include "tools/text/text.h"

namespace neuroshard::tools {

/// An explained plan. Borrows.
struct ExplainedPlan {
  const Task& task;
  const std::string& title;
  const std::string& weights;
  const std::vector<std::string>& notes;
  const PlanExplanation& explanation;
};

/// The page of `neuroshard explain`: the device that decides, its terms, its slices by what the
/// plan would save without them, and its cuts.
[[nodiscard]] std::string explanation_page(const ExplainedPlan& plan, const TextStyle& style);

/// Everything, as one JSON object; docs/plan_format.md. `indent` as in nlohmann::json::dump.
[[nodiscard]] std::string explanation_json(const ExplainedPlan& plan, int indent);

}  // namespace neuroshard::tools
