#pragma once

#include <optional>
#include <string>
#include <vector>

#include "neuroshard/explanation.h"
#include "neuroshard/plan_result.h"
#include "neuroshard/rule_costs.h"
#include "neuroshard/task.h"

#pragma GCC visibility push(default)
namespace neuroshard {

/// Says why a plan costs what it does, or why there is none.
struct ExplanationDocument {
  Task task;
  std::optional<PlanExplanation> explanation{};  ///< Nothing: there is no plan,
  std::optional<Infeasibility> infeasible{};     ///< and this says why.
  std::optional<RuleCosts> rules{};              ///< Costs of rules, if they were asked for.
  std::string task_name{};                       ///< May be empty, like the two below.
  std::string weights{};                         ///< Source of the cost models.
  std::vector<std::string> notes{};              ///< Assumptions that were made.
};

/// The document of docs/plan_format.md, in one line without its end. The cost's warning is the last
/// of the notes.
[[nodiscard]] std::string explanation_to_json(const ExplanationDocument& document);

}  // namespace neuroshard
#pragma GCC visibility pop
