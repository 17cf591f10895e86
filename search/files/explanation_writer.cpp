#include <cmath>

#include "neuroshard/cost_terms.h"
#include "neuroshard/explanation_file.h"
#include "search/files/json_text.h"

namespace neuroshard {
namespace {

using json_text::add_hidden_and_host;
using json_text::all_notes;
using json_text::Fields;
using json_text::name_of_table;

Fields changed_fields(const ChangedCost& cost) {
  return Fields().add("plan_ms", cost.plan_ms).add("device_ms", cost.device_ms);
}

void add_change(Fields& fields, const char* name, const std::optional<ChangedCost>& cost) {
  if (cost) fields.add(name, changed_fields(*cost));
}

Fields slice_fields(const SliceExplanation& slice, const Task& task) {
  Fields fields;
  fields.add("slice", slice.slice).add("table", slice.held.table);
  return fields.add_if_any("name", name_of_table(task, slice.held.table))
      .add("first_column", slice.held.first_column)
      .add("dim", slice.held.dim)
      .add("without", changed_fields(slice.without));
}

Fields cut_fields(const CutExplanation& cut, const Task& task) {
  Fields fields;
  fields.add("table", cut.table)
      .add_if_any("name", name_of_table(task, cut.table))
      .add("slices", cut.slices)
      .add("slices_here", cut.slices_here);
  add_change(fields, "merged", cut.merged);
  if (cut.whole) fields.add("whole", changed_fields(*cut.whole).add("device", cut.whole_device));
  return fields;
}

Fields device_fields(const PlanExplanation& explained, const std::vector<CostTerm>& terms,
                     const Task& task, std::size_t device) {
  const DeviceCost& cost = explained.cost.devices[device];
  const DeviceExplanation& without = explained.devices[device];
  Fields fields;
  fields.add("device", device).add("total_ms", cost.total_ms());
  for (const auto& [name, ms] : terms) fields.add(std::string(name) + "_ms", cost.*ms);
  add_hidden_and_host(fields, cost);
  fields.add("start_offset_ms", explained.start_offset_ms[device]).add("wait_ms", without.wait_ms);
  if (cost.base_ms > 0.0) fields.add("base_ms", cost.base_ms);
  if (cost.speed != 1.0) fields.add("speed", cost.speed);
  add_change(fields, "without_base", without.without_base);
  add_change(fields, "at_full_speed", without.at_full_speed);
  add_change(fields, "without_slices", without.without_slices);
  std::vector<Fields> slices;
  for (const SliceExplanation& slice : explained.slices[device]) {
    slices.push_back(slice_fields(slice, task));
  }
  return fields.add("slices", slices);
}

Fields rule_fields(const RuleCosts& costs, const RuleCost& cost, const Task& task) {
  Fields fields;
  fields.add("rule", name_of(cost.rule.kind));
  const bool of_group = cost.rule.group >= 0;
  const std::string& name = of_group ? task.groups[static_cast<std::size_t>(cost.rule.group)].name
                                     : name_of_table(task, cost.rule.table);
  fields.add(of_group ? "group" : "table", of_group ? cost.rule.group : cost.rule.table)
      .add_if_any("name", name);
  if (std::isfinite(cost.without_ms)) fields.add("without_ms", cost.without_ms);
  const std::optional<double> costs_ms = costs.costs_ms(cost);
  if (costs_ms && std::isfinite(*costs_ms)) fields.add("costs_ms", *costs_ms);
  return fields;
}

Fields rules_fields(const RuleCosts& costs, const Task& task) {
  Fields fields;
  if (std::isfinite(costs.with_ms)) fields.add("with_ms", costs.with_ms);
  std::vector<Fields> rules;
  for (const RuleCost& cost : costs.rules) rules.push_back(rule_fields(costs, cost, task));
  return fields.add("without", rules);
}

void add_explanation(Fields& fields, const PlanExplanation& explained, const Task& task) {
  fields.add("cost_ms", explained.cost.cost_ms);
  if (explained.cost.set_by_host()) fields.add("set_by", "host");
  fields.add("deciding_device", explained.deciding).add("devices_by_cost", explained.by_cost);
  const std::vector<CostTerm> terms = cost_terms(explained.cost);
  std::vector<Fields> devices;
  for (std::size_t device = 0; device < explained.cost.devices.size(); ++device) {
    devices.push_back(device_fields(explained, terms, task, device));
  }
  std::vector<Fields> cuts;
  for (const CutExplanation& cut : explained.cuts) cuts.push_back(cut_fields(cut, task));
  fields.add("devices", devices).add("cuts", cuts);
}

}  // namespace

std::string explanation_to_json(const ExplanationDocument& document) {
  Fields fields;
  fields.add("format", "neuroshard.explanation")
      .add("version", 1)
      .add_if_any("task", document.task_name)
      .add_if_any("weights", document.weights)
      .add("notes", document.explanation
                        ? all_notes(document.notes, document.explanation->cost.warning)
                        : document.notes);
  if (document.explanation) {
    add_explanation(fields, *document.explanation, document.task);
  } else if (document.infeasible) {
    fields.add("error", Fields()
                            .add("kind", name_of(document.infeasible->kind))
                            .add("message", document.infeasible->message));
  }
  if (document.rules) fields.add("rules", rules_fields(*document.rules, document.task));
  return fields.text();
}

}  // namespace neuroshard
