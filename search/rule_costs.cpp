#include "neuroshard/rule_costs.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "core/base/enum_names.h"
#include "core/base/message_text.h"
#include "core/tables/table_groups.h"
#include "core/tables/table_label.h"
#include "core/tables/table_rules.h"
#include "neuroshard/plan_check.h"

namespace neuroshard {

namespace {

template <auto kField>
void copy_field(const TableRules& from, TableRules& to) {
  to.*kField = from.*kField;
}

/// In the order of RuleKind, up to those of groups.
constexpr std::array kCopyRule = {
    copy_field<&TableRules::no_split>,    copy_field<&TableRules::min_width>,
    copy_field<&TableRules::max_slices>,  copy_field<&TableRules::devices>,
    copy_field<&TableRules::not_devices>, copy_field<&TableRules::nodes>,
    copy_field<&TableRules::not_nodes>,   copy_field<&TableRules::kinds>,
    copy_field<&TableRules::keep_in_hbm>, copy_field<&TableRules::hbm_share>};
static_assert(kCopyRule.size() == static_cast<std::size_t>(RuleKind::kTogether));

/// Puts what `from` says of one kind in the place of what `to` does. A group's is none of them.
void copy_rule(RuleKind kind, const TableRules& from, TableRules& to) {
  if (kind < RuleKind::kTogether) kCopyRule[static_cast<std::size_t>(kind)](from, to);
}

}  // namespace

std::span<const RuleKind> all_rule_kinds() { return kAllNamed<RuleKind>; }

std::string_view name_of(RuleKind kind) { return name_or_unknown(kind); }

std::vector<TaskRule> rules_of(const Task& task) {
  std::vector<TaskRule> rules;
  for (std::size_t table = 0; table < task.tables.size(); ++table) {
    for (const RuleKind kind : all_rule_kinds()) {
      TableRules without = task.tables[table].rules;
      copy_rule(kind, {}, without);
      if (without == task.tables[table].rules) continue;
      rules.push_back({.kind = kind, .table = static_cast<int>(table)});
    }
  }
  for (std::size_t group = 0; group < task.groups.size(); ++group) {
    const bool together = task.groups[group].keep == Keep::kTogether;
    rules.push_back({.kind = together ? RuleKind::kTogether : RuleKind::kApart,
                     .group = static_cast<int>(group)});
  }
  return rules;
}

Task task_without(const Task& task, const TaskRule& rule) {
  Task without = task;
  if (rule.group >= 0) {
    without.groups.erase(without.groups.begin() + rule.group);
  } else {
    copy_rule(rule.kind, {}, without.tables[static_cast<std::size_t>(rule.table)].rules);
  }
  return without;
}

std::string rule_text(const Task& task, const TaskRule& rule) {
  if (rule.group >= 0) {
    const auto group = static_cast<std::size_t>(rule.group);
    return group_label(task, group) + ": " + std::string(name_of(rule.kind)) + ", " +
           joined(task.groups[group].tables, ", ",
                  [&](int table) { return label_of(task, table); });
  }
  TableRules alone;
  copy_rule(rule.kind, task.tables[static_cast<std::size_t>(rule.table)].rules, alone);
  return label_of(task, rule.table) + ": " + listed_rules(alone);
}

RuleCosts costs_of_rules(const Planner& planner, const Task& task, const PlanRequest& request,
                         double known_ms) {
  RuleCosts costs;
  costs.with = planner.plan(task, request);
  costs.with_ms = std::min(known_ms, costs.with.cost.cost_ms);  // Infinite without a plan.
  // So many copies of the task at once.
  constexpr std::size_t kAtOnce = 64;
  const std::vector<TaskRule> rules = rules_of(task);
  for (std::size_t first = 0; first < rules.size(); first += kAtOnce) {
    const std::size_t end = std::min(rules.size(), first + kAtOnce);
    std::vector<Task> tasks;
    for (std::size_t i = first; i < end; ++i) tasks.push_back(task_without(task, rules[i]));
    const std::vector<PlanOutcome> outcomes =
        planner.plan_batch(tasks, {.deadline = request.deadline, .stop = request.stop});
    for (std::size_t i = first; i < end; ++i) {
      const PlanResult& result = outcomes[i - first].value();
      costs.rules.push_back(
          {.rule = rules[i], .without_ms = std::min(costs.with_ms, result.cost.cost_ms)});
    }
  }
  return costs;
}

double cost_with_rules_ms(const Planner& planner, const Task& task,
                          const std::optional<Plan>& plan) {
  return plan && check_plan(*plan, task).empty() ? planner.simulate(task, *plan).cost_ms
                                                 : std::numeric_limits<double>::infinity();
}

}  // namespace neuroshard
