#include "tools/plan_pages/rules_page.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "core/base/message_text.h"
#include "tools/text/text.h"

namespace neuroshard::tools {
namespace {

std::string costs_text(std::optional<double> costs_ms) {
  if (!costs_ms) return "-";
  return std::isfinite(*costs_ms) ? format_ms(*costs_ms) : "a plan";
}

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
    table.add_row({cut(printable(rule_text(task, rules[i].rule)), 60),
                   ms_or_no_plan(rules[i].without_ms), costs_text(costs.costs_ms(rules[i]))});
  }
  const std::size_t left = rules.size() - std::min(kMostRules, rules.size());
  return "\nRules, and what a plan costs without each; with all of them " +
         ms_or_no_plan(costs.with_ms) + (std::isfinite(costs.with_ms) ? " ms" : "") + ":\n" +
         table.str() + (left > 0 ? "... and " + counted(left, "rule") + " more\n" : "");
}

}  // namespace neuroshard::tools
