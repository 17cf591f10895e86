#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <utility>
#include <vector>

#include "neuroshard/device_groups.h"
#include "tools/python/bindings/bindings.h"
#include "tools/python/bindings/python_planner.h"

namespace neuroshard::python {
namespace {

namespace nb = nanobind;
using nb::literals::operator""_a;

/// GroupsPlan and GroupsResult with what Python has for tasks and results.
struct TaskGroups {
  GroupsPlan plan;  ///< Without its task and result.
  std::shared_ptr<NamedTask> task;
  TaskPlanResult result;
};
struct TaskGroupsResult {
  std::vector<TaskGroups> plans;
  std::optional<std::size_t> best;
  std::vector<std::string> left_out;
};

TaskGroupsResult plan_groups(const PythonPlanner& planner, const std::shared_ptr<NamedTask>& task,
                             std::vector<int> sizes, const std::vector<std::string>& layouts,
                             std::optional<double> iterations, double share, bool optimizer_state,
                             bool touched_rows, std::optional<double> deadline_ms) {
  GroupsRequest request{.sizes = std::move(sizes),
                        .iterations = iterations.value_or(0.0),
                        .share = share,
                        .optimizer_state = optimizer_state,
                        .touched_rows = touched_rows,
                        .plan = timed_request(deadline_ms)};
  for (const std::string& layout : layouts) {
    request.layouts.push_back(group_layout_from_name(layout));
  }
  GroupsResult found;
  run_search(planner, size_of(task->task), [&](std::stop_token stop) {
    request.plan.stop = std::move(stop);
    found = planner.planner.plan_groups(task->task, request);
  });
  TaskGroupsResult result{.best = found.best, .left_out = std::move(found.left_out)};
  for (GroupsPlan& plan : found.plans) {
    auto of_group = std::make_shared<NamedTask>(*task);
    of_group->task = std::move(plan.task);
    TaskPlanResult planned{of_group, planner.weights->origin, std::move(plan.result)};
    result.plans.push_back({std::move(plan), std::move(of_group), std::move(planned)});
  }
  return result;
}

template <typename Field>
auto of_plan(Field GroupsPlan::*field) {
  return [field](const TaskGroups& groups) { return groups.plan.*field; };
}

}  // namespace

void bind_groups(nb::module_& module, nb::class_<PythonPlanner>& planner) {
  nb::class_<TaskGroups>(module, "DeviceGroups",
                         "Devices in groups that each hold all tables (docs/device_groups.md).")
      .def_prop_ro("size", [](const TaskGroups& of) { return of.plan.groups.size; })
      .def_prop_ro(
          "layout",
          [](const TaskGroups& of) { return std::string(name_of(of.plan.groups.layout)); },
          "\"consecutive\" or \"interleaved\".")
      .def_prop_ro("copies", of_plan(&GroupsPlan::copies), "Number of groups.")
      .def_ro("task", &TaskGroups::task, "Task of one group: its plan is one of this task.")
      .def_ro("result", &TaskGroups::result, "The plan of a group.")
      .def_prop_ro("averaged_bytes", of_plan(&GroupsPlan::averaged_bytes),
                   "Bytes of the device that has most.")
      .def_prop_ro("averaging_ms", of_plan(&GroupsPlan::averaging_ms), "Time of one averaging.")
      .def_prop_ro("iterations", of_plan(&GroupsPlan::iterations),
                   "Iterations between two averagings; 0: there is none.")
      .def_prop_ro(
          "cost_ms", of_plan(&GroupsPlan::cost_ms),
          "Cost of an iteration with its part of the averaging; infinite if there is no plan.")
      .def("__repr__", [](const TaskGroups& of) {
        return "DeviceGroups(size=" + std::to_string(of.plan.groups.size) + ", layout='" +
               std::string(name_of(of.plan.groups.layout)) +
               "', cost_ms=" + std::to_string(of.plan.cost_ms) + ")";
      });
  nb::class_<TaskGroupsResult>(module, "GroupsResult", "Result of Planner.plan_groups().")
      .def_ro(
          "plans", &TaskGroupsResult::plans, nb::rv_policy::reference_internal,
          "In the order of `sizes` (ascending if none were given), and for each of them in that "
          "of `layouts`.")
      .def_prop_ro(
          "best",
          [](const TaskGroupsResult& result) -> std::optional<TaskGroups> {
            if (!result.best) return std::nullopt;
            return result.plans[*result.best];
          },
          "The cheapest of them; None if no size has a plan.")
      .def_ro("left_out", &TaskGroupsResult::left_out,
              "Sizes that were left out though none were asked for, each with its reason.");
  planner.def(
      "plan_groups", &plan_groups, "task"_a, nb::kw_only(), "sizes"_a = std::vector<int>{},
      "layouts"_a = std::vector<std::string>{}, "iterations"_a = nb::none(), "share"_a = 0.05,
      "optimizer_state"_a = true, "touched_rows"_a = false, "deadline_ms"_a = nb::none(),
      nb::sig(
          "def plan_groups(self, task: Task, *, sizes: collections.abc.Sequence[int] = (), "
          "layouts: collections.abc.Sequence[str] = (), iterations: float | None = None, share: "
          "float = 0.05, optimizer_state: bool = True, touched_rows: bool = False, deadline_ms: "
          "float | None = None) -> GroupsResult"),
      "Plans devices of `task` in groups that each hold all tables. The groups have each of "
      "`sizes`, by default all that can be planned, and each of `layouts`, by default both. Copies "
      "are averaged every `iterations`, or so seldom that it takes `share` of the time: all rows, "
      "or those that were looked up since.");
}

}  // namespace neuroshard::python
