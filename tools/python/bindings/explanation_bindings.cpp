#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <utility>

#include "neuroshard/explanation_file.h"
#include "tools/plan_pages/explanation_page.h"
#include "tools/python/bindings/arrays.h"
#include "tools/python/bindings/bindings.h"
#include "tools/python/bindings/python_planner.h"

namespace neuroshard::python {
namespace {

namespace nb = nanobind;
using nb::literals::operator""_a;

/// Why a plan costs what it does, or why there is none. Knows its task, so that it can be shown.
struct TaskExplanation {
  std::shared_ptr<NamedTask> task;
  std::optional<CostedTaskPlan> costed;  ///< Nothing: there is no plan.
  ExplanationDocument document;
};

/// A RuleCost that says what the rule costs.
struct PricedRule {
  RuleCost cost;
  std::optional<double> costs_ms;
  std::string text;
};

TaskExplanation explain(const PythonPlanner& planner, std::shared_ptr<NamedTask> task,
                        std::optional<Plan> plan, bool rules, std::optional<double> deadline_ms) {
  const Task& explained = task->task;
  PlanRequest request = timed_request(deadline_ms);
  ExplanationDocument document{.task = explained,
                               .task_name = title_of(*task),
                               .weights = planner.weights->origin,
                               .notes = task->notes};
  const std::size_t plans = rules ? 1 + rules_of(explained).size() : 1;
  run_search(planner, plans * size_of(explained), [&](std::stop_token stop) {
    request.stop = std::move(stop);
    if (rules) {
      document.rules = costs_of_rules(planner.planner, explained, request,
                                      cost_with_rules_ms(planner.planner, explained, plan));
    }
    if (!plan) {
      PlanResult result =
          document.rules ? document.rules->with : planner.planner.plan(explained, request);
      plan = std::move(result.plan);
      document.infeasible = std::move(result.infeasible);
    }
    if (plan) document.explanation = planner.planner.explain(explained, *plan);
  });
  std::optional<CostedTaskPlan> costed;
  if (plan) {
    costed =
        CostedTaskPlan{task, planner.weights->origin, *std::move(plan), document.explanation->cost};
  }
  return {std::move(task), std::move(costed), std::move(document)};
}

std::vector<PricedRule> priced_rules(const TaskExplanation& of) {
  std::vector<PricedRule> priced;
  for (const RuleCost& cost : of.document.rules->rules) {
    priced.push_back(
        {cost, of.document.rules->costs_ms(cost), rule_text(of.document.task, cost.rule)});
  }
  return priced;
}

/// A figure of each device; nothing if there is no plan.
template <typename Figure>
auto of_devices(Figure figure) {
  return [figure](const TaskExplanation& of) {
    std::vector<decltype(figure(DeviceExplanation{}))> figures;
    if (of.document.explanation) {
      for (const DeviceExplanation& device : of.document.explanation->devices) {
        figures.push_back(figure(device));
      }
    }
    return figures;
  };
}

/// A part of the explanation of a plan; empty if there is no plan.
template <typename Part>
auto part(Part PlanExplanation::*field) {
  return [field](const TaskExplanation& of) {
    return of.document.explanation ? (*of.document.explanation).*field : Part{};
  };
}

void bind_parts(nb::module_& module) {
  nb::class_<ChangedCost>(module, "ChangedCost",
                          "Cost that a plan would have after a change of it.")
      .def_ro("plan_ms", &ChangedCost::plan_ms)
      .def_ro("device_ms", &ChangedCost::device_ms,
              "Cost of the device that was changed; of the dearest if several were.")
      .def("__repr__", [](const ChangedCost& cost) {
        return "ChangedCost(plan_ms=" + std::to_string(cost.plan_ms) +
               ", device_ms=" + std::to_string(cost.device_ms) + ")";
      });
  nb::class_<SliceExplanation>(module, "SliceExplanation", "Costs that depend on one slice.")
      .def_ro("slice", &SliceExplanation::slice, "Index, as in Plan.shards.")
      .def_ro("held", &SliceExplanation::held)
      .def_ro("without", &SliceExplanation::without, "Cost if no device held the slice.");
  nb::class_<CutExplanation>(module, "CutExplanation",
                             "A table that is cut, with a slice on the deciding device.")
      .def_ro("table", &CutExplanation::table, "Index into Task.tables.")
      .def_ro("slices", &CutExplanation::slices, "Slices on all devices.")
      .def_ro("slices_here", &CutExplanation::slices_here, "Slices on the deciding device.")
      .def_ro("merged", &CutExplanation::merged,
              "Cost if these were one; None unless there are several that can be.")
      .def_ro("whole_device", &CutExplanation::whole_device,
              "Where the whole table would be cheapest; -1: no device has room for it.")
      .def_ro("whole", &CutExplanation::whole, "Cost if it were there.");
  nb::class_<PricedRule>(module, "RuleCost",
                         "Cost of a task without one of its rules; infinite: no plan.")
      .def_prop_ro(
          "kind", [](const PricedRule& rule) { return std::string(name_of(rule.cost.rule.kind)); },
          "A field of TableRules, \"together\" or \"apart\".")
      .def_prop_ro(
          "table", [](const PricedRule& rule) { return rule.cost.rule.table; },
          "Index of the table that has the rule; -1: a group has it.")
      .def_prop_ro(
          "group", [](const PricedRule& rule) { return rule.cost.rule.group; },
          "Index into Task.groups; -1: a table has it.")
      .def_prop_ro(
          "without_ms", [](const PricedRule& rule) { return rule.cost.without_ms; },
          "Cost of the cheapest plan that keeps all other rules.")
      .def_ro("costs_ms", &PricedRule::costs_ms,
              "Saving of a plan without the rule; infinite if there is a plan only then, None if "
              "there is none then, either.")
      .def("__repr__", [](const PricedRule& rule) { return rule.text; });
}

}  // namespace

void bind_explanations(nb::module_& module, nb::class_<PythonPlanner>& planner) {
  bind_parts(module);
  nb::class_<TaskExplanation>(module, "PlanExplanation",
                              "Why a plan costs what it does (docs/plan_format.md); lists have an "
                              "element per device. If there is no plan: why.")
      .def_ro("cost", &TaskExplanation::costed, "As Planner.simulate() has it; None: no plan.")
      .def_prop_ro("infeasible", [](const TaskExplanation& of) { return of.document.infeasible; })
      .def_prop_ro(
          "deciding_device",
          [](const TaskExplanation& of) {
            return of.document.explanation ? of.document.explanation->deciding : -1;
          },
          "The one that takes longest, not counting how long it waits for others; -1: no plan.")
      .def_prop_ro("devices_by_cost", part(&PlanExplanation::by_cost), "The dearest first.")
      .def_prop_ro("start_offset_ms", part(&PlanExplanation::start_offset_ms),
                   "How much later than the first one each begins its forward all-to-all.")
      .def_prop_ro("wait_ms",
                   of_devices([](const DeviceExplanation& device) { return device.wait_ms; }),
                   "How long each waits there for the one that is ready last.")
      .def_prop_ro("without_slices", of_devices([](const DeviceExplanation& device) {
                     return device.without_slices;
                   }),
                   "Cost if none of its slices were anywhere; None: it has none.")
      .def_prop_ro("without_base",
                   of_devices([](const DeviceExplanation& device) { return device.without_base; }),
                   "Cost if it had no base load; None: it has none.")
      .def_prop_ro("at_full_speed",
                   of_devices([](const DeviceExplanation& device) { return device.at_full_speed; }),
                   "Cost if its speed were 1; None: it is not below.")
      .def_prop_ro("slices", part(&PlanExplanation::slices), "Slices on each device.")
      .def_prop_ro("cuts", part(&PlanExplanation::cuts), "By table.")
      .def_prop_ro(
          "rules",
          [](const TaskExplanation& of) -> std::optional<std::vector<PricedRule>> {
            if (!of.document.rules) return std::nullopt;
            return priced_rules(of);
          },
          "Rules of the tables in their order, then of the groups; None: they were not asked for.")
      .def(
          "to_json", [](const TaskExplanation& of) { return explanation_to_json(of.document); },
          "The document of docs/plan_format.md.")
      .def("__repr__", [](const TaskExplanation& of) {
        return tools::explanation_page(of.document, {.unicode = true});
      });
  planner.def("explain", &explain, "task"_a, "plan"_a = nb::none(), nb::kw_only(),
              "rules"_a = false, "deadline_ms"_a = nb::none(),
              "Why `plan` costs what it does: which device decides, and what the plan would cost "
              "without each slice. None: the task is planned first. `rules`: also the cost of each "
              "rule of the task, which takes a plan for each; if the task has no plan, the rules "
              "that leave it without one. `deadline_ms`: for all these plans together. Raises "
              "Error as simulate() and plan() do.");
}

}  // namespace neuroshard::python
