#pragma once

#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "neuroshard/plan_request.h"
#include "neuroshard/plan_result.h"
#include "neuroshard/planner.h"
#include "neuroshard/task.h"

#pragma GCC visibility push(default)
namespace neuroshard {

/// Kind of a rule: a field of TableRules, or how a group is kept.
enum class RuleKind {
  kNoSplit,
  kMinWidth,
  kMaxSlices,
  kDevices,
  kNotDevices,
  kNodes,
  kNotNodes,
  kKinds,
  kKeepInHbm,
  kHbmShare,
  kTogether,
  kApart,
};

[[nodiscard]] std::span<const RuleKind> all_rule_kinds();
/// Name in task files: "no_split", "min_width", "max_slices", "devices", "not_devices", "nodes",
/// "not_nodes", "kinds", "keep_in_hbm", "hbm_share", "together", "apart".
[[nodiscard]] std::string_view name_of(RuleKind kind);

/// One rule of a task.
struct TaskRule {
  RuleKind kind = RuleKind::kNoSplit;
  int table = -1;  ///< Table that has it; -1: it is a group's.
  int group = -1;  ///< Index into Task::groups; -1: it is a table's.

  friend bool operator==(const TaskRule&, const TaskRule&) = default;
};

/// Lists all rules: of the tables in their order, then of the groups.
[[nodiscard]] std::vector<TaskRule> rules_of(const Task& task);

/// `task` with all rules but that one, which it has.
[[nodiscard]] Task task_without(const Task& task, const TaskRule& rule);

/// "table 3 ('user'): devices 0, 1"; for messages.
[[nodiscard]] std::string rule_text(const Task& task, const TaskRule& rule);

/// Cost of a task without one of its rules.
struct RuleCost {
  TaskRule rule;
  /// Cost of the cheapest plan found that keeps all others; infinite if there is none.
  double without_ms = std::numeric_limits<double>::infinity();
};

struct RuleCosts {
  PlanResult with;  ///< Result for the task as it is.
  /// Cost of the cheapest plan known that keeps all rules; infinite if there is none.
  double with_ms = std::numeric_limits<double>::infinity();
  std::vector<RuleCost> rules;  ///< Costs in the order of rules_of().

  /// Cost of `rule`: at least 0; infinite if there is a plan only without it, nothing if there is
  /// none either way.
  [[nodiscard]] std::optional<double> costs_ms(const RuleCost& rule) const {
    if (!std::isfinite(rule.without_ms)) return std::nullopt;
    return rule.without_ms < with_ms ? with_ms - rule.without_ms : 0.0;
  }
};

/// Plans `task`, and once more without each of its rules, all by the same options. A plan that
/// keeps all rules keeps all but one, too. The search is not exhaustive: it may find a dearer plan
/// without a rule, or none. Then the cheapest plan that keeps all rules counts, so that no rule
/// costs less than 0. Costs of rules do not add up: one may forbid what another one does.
/// `known_ms` is the cost of another plan that keeps all rules. Alternatives and on_improvement of
/// `request` are for the task as it is; a deadline is that of all plans together. Throws Error as
/// Planner::plan() does.
[[nodiscard]] RuleCosts costs_of_rules(const Planner& planner, const Task& task,
                                       const PlanRequest& request = {},
                                       double known_ms = std::numeric_limits<double>::infinity());

/// Cost of `plan`, for `known_ms` above, if there is one and it keeps all rules of `task` and fits;
/// else infinity.
[[nodiscard]] double cost_with_rules_ms(const Planner& planner, const Task& task,
                                        const std::optional<Plan>& plan);

}  // namespace neuroshard
#pragma GCC visibility pop
