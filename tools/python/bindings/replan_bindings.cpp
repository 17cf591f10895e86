#include <nanobind/nanobind.h>
#include <nanobind/operators.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <utility>

#include "neuroshard/replan.h"
#include "tools/plan_pages/html_report.h"
#include "tools/plan_pages/moves_report.h"
#include "tools/plan_pages/plan_report.h"
#include "tools/python/bindings/bindings.h"
#include "tools/python/bindings/html_methods.h"
#include "tools/python/bindings/python_planner.h"

namespace neuroshard::python {
namespace {

namespace nb = nanobind;
using nb::literals::operator""_a;

/// A plan near to a running one.
struct TaskReplanResult {
  TaskPlanResult found;
  CostedTaskPlan running;
  PlanMoves moves;
};

TaskReplanResult replan(const PythonPlanner& planner, std::shared_ptr<NamedTask> task,
                        std::shared_ptr<NamedTask> running_task, const Plan& running_plan,
                        std::vector<int> lost_devices, const std::optional<std::string>& regrouped,
                        std::optional<std::int64_t> move_budget_bytes,
                        std::optional<std::int64_t> unspent_bytes, double small_moves_share,
                        std::int64_t small_moves_bytes, double ms_per_moved_gib,
                        std::optional<double> deadline_ms) {
  ReplanRequest request{.plan = timed_request(deadline_ms),
                        .most_moved_bytes = move_budget_bytes,
                        .unspent_bytes = unspent_bytes,
                        .small_moves_share = small_moves_share,
                        .small_moves_bytes = small_moves_bytes,
                        .ms_per_moved_gib = ms_per_moved_gib};
  RunningPlan running{running_task->task, running_plan, std::move(lost_devices)};
  if (regrouped) running.regrouped = group_layout_from_name(*regrouped);
  ReplanResult replanned;
  run_search(planner, size_of(task->task), [&](std::stop_token stop) {
    request.plan.stop = std::move(stop);
    replanned = planner.planner.replan(task->task, running, request);
  });
  const std::string& weights = planner.weights->origin;
  PlanMoves moves = plan_moves(replanned);
  return {.found = {std::move(task), weights, std::move(replanned.result)},
          .running = {std::move(running_task), weights, running_plan,
                      std::move(replanned.running_cost)},
          .moves = std::move(moves)};
}

PlanDocument document_of(const TaskReplanResult& result) {
  PlanDocument document = document_of(result.found);
  document.moves = result.moves;
  return document;
}

}  // namespace

void bind_replanning(nb::module_& module, nb::class_<PythonPlanner>& planner) {
  nb::class_<TableColumns>(module, "TableColumns", "Columns of a table.")
      .def_ro("table", &TableColumns::table, "Index into Task.tables.")
      .def_ro("first_column", &TableColumns::first_column)
      .def_ro("dim", &TableColumns::dim, "Number of columns.")
      .def(nb::self == nb::self, nb::sig("def __eq__(self, other: object, /) -> bool"));
  nb::class_<TableMove>(module, "TableMove",
                        "Rows of columns of a table that a device has to be sent.")
      .def_ro("columns", &TableMove::columns)
      .def_ro("first_row", &TableMove::first_row,
              "Rows of a table with hot rows are numbered with these first.")
      .def_ro("rows", &TableMove::rows)
      .def_ro("from_device", &TableMove::from,
              "Device that holds them; -1: none, they come from storage or are new.")
      .def_ro("to_device", &TableMove::to)
      .def_ro("bytes", &TableMove::bytes)
      .def("__repr__", [](const TableMove& move) {
        return "TableMove(table=" + std::to_string(move.columns.table) +
               ", from_device=" + std::to_string(move.from) +
               ", to_device=" + std::to_string(move.to) + ", bytes=" + std::to_string(move.bytes) +
               ")";
      });
  nb::class_<TaskReplanResult> replan_result(module, "ReplanResult",
                                             "A plan near to a running one.");
  replan_result.def_ro("result", &TaskReplanResult::found)
      .def_ro("running_cost", &TaskReplanResult::running,
              "Cost of the running plan for its own task.")
      .def_prop_ro(
          "moves",
          [](const TaskReplanResult& result) -> const std::vector<TableMove>& {
            return result.moves.moves;
          },
          "By receiving device, then table, column and row.")
      .def_prop_ro(
          "moved_bytes", [](const TaskReplanResult& result) { return result.moves.moved_bytes; },
          "Sum of `moves`.")
      .def_prop_ro(
          "must_move_bytes",
          [](const TaskReplanResult& result) { return result.moves.must_move_bytes; },
          "Bytes that have to be moved if all tables stay sharded as they run: those that no "
          "device holds, and those that replicated and row-wise tables need on other devices. They "
          "do not depend on the plan, which moves less if it drops replicas or joins slices.")
      .def_prop_ro(
          "unspent_bytes",
          [](const TaskReplanResult& result) { return result.moves.unspent_bytes; },
          "Bytes of the budget that are left for later changes.")
      .def(
          "to_json",
          [](const TaskReplanResult& result) {
            return result.found.result.plan ? plan_to_json(document_of(result))
                                            : plan_to_json(no_plan_document_of(result.found));
          },
          "The document of docs/plan_format.md.")
      .def("__repr__", [](const TaskReplanResult& result) {
        std::string page = page_of(result.found);
        if (result.found.result.plan) page += '\n' + tools::moves_page(document_of(result));
        return page;
      });
  add_html_methods(replan_result, [](const TaskReplanResult& result) {
    if (!result.found.result.plan) return html_of(result.found);
    const CostedTaskPlan& running = result.running;
    return tools::html_report(
        document_of(result), {.running = tools::ComparedPlan{"the running plan", running.task->task,
                                                             running.plan, running.cost}});
  });
  planner.def(
      "replan", &replan, "task"_a, "running_task"_a, "running_plan"_a, nb::kw_only(),
      "lost_devices"_a = std::vector<int>{}, "regrouped"_a = nb::none(),
      "move_budget_bytes"_a = nb::none(), "unspent_bytes"_a = nb::none(),
      "small_moves_share"_a = ReplanRequest{}.small_moves_share,
      "small_moves_bytes"_a = ReplanRequest{}.small_moves_bytes, "ms_per_moved_gib"_a = 0.0,
      "deadline_ms"_a = nb::none(),
      "A plan for `task` near to `running_plan`, so that little has to be moved. Tables keep what "
      "devices hold of them if name and dim stay. `lost_devices`: devices of the running plan that "
      "are gone; the others keep their order and become 0, 1, ... `regrouped`: the layout of "
      "running "
      "groups of devices that become groups of the devices of `task`. With neither budget nor "
      "price, "
      "1.2 times what has to be moved for tables to stay sharded as they run may be moved. If it "
      "saves 1 % of the cost, `small_moves_share` of what tables take on all devices may be moved "
      "beyond that, or `small_moves_bytes` for each device if that is more. `unspent_bytes`: what "
      "budgets of earlier changes left (0 at the first), which may be moved as well; the plan then "
      "leaves what gains little for later ones. Raises Error on invalid input, and if all plans "
      "found move more than the budget; the error says what is enough for one.");
}

}  // namespace neuroshard::python
