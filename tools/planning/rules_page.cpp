#include "tools/planning/rules_page.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "core/message_text.h"
#include "tools/text/text.h"

namespace neuroshard::tools {
namespace {

std::string ms_or_no_plan(double ms) { return std::isfinite(ms) ? format_ms(ms) : "no plan"; }

}  // namespace

std::string rules_page(const Task& task, const RuleCosts& costs) {
  using enum TextTable::Align;
  if (costs.rules.empty()) return "\nThe task has no rules.\n";
  std::vector<RuleCost> rules = costs.rules;
  std::ranges::stable_sort(rules, std::greater<>(),
                           [&](const RuleCost& rule) { return costs.costs_ms(rule); });
  TextTable table({kLeft, kRight, kRight});
  table.add_row({"without the rule", "plan ms", "it costs"});
  constexpr std::size_t kMostRules = 20;
  for (std::size_t i = 0; i < std::min(kMostRules, rules.size()); ++i) {
    const double ms = costs.costs_ms(rules[i]);
    table.add_row({cut(printable(rule_text(task, rules[i].rule)), 60),
                   ms_or_no_plan(rules[i].without_ms),
                   std::isfinite(ms) ? format_ms(ms) : "a plan"});
  }
  const std::size_t left = rules.size() - std::min(kMostRules, rules.size());
  return "\nRules, and what a plan costs without each; with all of them " +
         ms_or_no_plan(costs.with_ms) + (std::isfinite(costs.with_ms) ? " ms" : "") + ":\n" +
         table.str() + (left > 0 ? "... and " + counted(left, "rule") + " more\n" : "");
}

nlohmann::ordered_json rules_json(const Task& task, const RuleCosts& costs) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  if (std::isfinite(costs.with_ms)) json["with_ms"] = costs.with_ms;
  auto& list = json["without"] = nlohmann::ordered_json::array();
  for (const RuleCost& cost : costs.rules) {
    auto& entry = list.emplace_back(nlohmann::ordered_json{{"rule", name_of(cost.rule.kind)}});
    if (cost.rule.group >= 0) {
      const TableGroup& group = task.groups[static_cast<std::size_t>(cost.rule.group)];
      entry["group"] = cost.rule.group;
      if (!group.name.empty()) entry["name"] = group.name;
    } else {
      const std::string& name = task.tables[static_cast<std::size_t>(cost.rule.table)].name;
      entry["table"] = cost.rule.table;
      if (!name.empty()) entry["name"] = name;
    }
    if (std::isfinite(cost.without_ms)) entry["without_ms"] = cost.without_ms;
    if (std::isfinite(costs.costs_ms(cost))) entry["costs_ms"] = costs.costs_ms(cost);
  }
  return json;
}

}  // namespace neuroshard::tools
