#include <nanobind/nanobind.h>
#include <nanobind/operators.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <functional>
#include <type_traits>
#include <utility>

#include "core/base/message_text.h"
#include "core/plans/host_rows.h"
#include "neuroshard/column_halvings.h"
#include "neuroshard/error.h"
#include "neuroshard/plan.h"
#include "neuroshard/plan_check.h"
#include "neuroshard/plan_file.h"
#include "neuroshard/waiting.h"
#include "tools/plan_pages/html_report.h"
#include "tools/plan_pages/plan_report.h"
#include "tools/python/bindings/arrays.h"
#include "tools/python/bindings/bindings.h"
#include "tools/python/bindings/html_methods.h"
#include "tools/python/bindings/values.h"

namespace neuroshard::python {
namespace {

namespace nb = nanobind;
using nb::literals::operator""_a;

// Policy of arrays, which keep what they show.
constexpr auto kOwned = nb::rv_policy::automatic;

/// Tables and numbers of rows.
using TableRows = std::vector<std::pair<int, std::int64_t>>;

TableRows table_rows(const Plan& plan, std::int64_t HotRows::*rows) {
  TableRows pairs;
  for (const HotRows& hot : plan.hot_rows) {
    if (hot.*rows != 0) pairs.emplace_back(hot.table, hot.*rows);
  }
  return pairs;
}

std::vector<HotRows> joined(const TableRows& hot_rows, const TableRows& node_rows) {
  std::vector<HotRows> all;
  for (const auto& [table, rows] : hot_rows) all.push_back({table, rows});
  for (const auto& [table, rows] : node_rows) {
    auto place = std::ranges::find_if(all, [&](const HotRows& hot) { return hot.table >= table; });
    if (place == all.end() || place->table != table) place = all.insert(place, {table});
    place->node_rows = rows;
  }
  return all;
}

constexpr tools::TextStyle kPageStyle{.unicode = true};

std::string page_of(const CostedTaskPlan& plan) {
  return tools::plan_page(document_of(plan), kPageStyle);
}

std::string json_of(const TaskPlanResult& result) {
  return result.result.plan ? plan_to_json(document_of(result))
                            : plan_to_json(no_plan_document_of(result));
}

std::string html_of(const CostedTaskPlan& plan) { return tools::html_report(document_of(plan)); }

Plan one_plan(const std::vector<PlanRecord>& records, const NamedTask& task,
              const std::string& where) {
  if (records.size() != 1) {
    throw Error(where + ": there are " + std::to_string(records.size()) + " plans; give one");
  }
  return plan_for(records[0], task.task);
}

/// `figure`: a member of DeviceCost, or what is to be made of one.
template <typename Figure>
auto by_device(Figure figure) {
  return [figure](const CostedTaskPlan& plan) {
    std::vector<std::decay_t<std::invoke_result_t<Figure, const DeviceCost&>>> values;
    for (const DeviceCost& device : plan.cost.devices) {
      values.push_back(std::invoke(figure, device));
    }
    return array_of(std::move(values));
  };
}

void bind_plan(nb::module_& module) {
  nb::class_<TableSlice>(module, "TableSlice",
                         "A rectangle of a table that stays together: columns, and rows of them.")
      .def(
          "__init__",
          [](TableSlice* self, int table, int first_column, int dim, std::int64_t first_row,
             std::int64_t rows) {
            new (self) TableSlice{table, first_column, dim, first_row, rows};
          },
          "table"_a, "first_column"_a, "dim"_a, "first_row"_a, "rows"_a)
      .def_ro("table", &TableSlice::table, "Index into Task.tables.")
      .def_ro("first_column", &TableSlice::first_column)
      .def_ro("dim", &TableSlice::dim, "Number of columns.")
      .def_ro("first_row", &TableSlice::first_row)
      .def_ro("rows", &TableSlice::rows, "Number of rows.")
      .def(nb::self == nb::self, nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__repr__", [](const TableSlice& slice) {
        return "TableSlice(table=" + std::to_string(slice.table) +
               ", first_column=" + std::to_string(slice.first_column) +
               ", dim=" + std::to_string(slice.dim) +
               ", first_row=" + std::to_string(slice.first_row) +
               ", rows=" + std::to_string(slice.rows) + ")";
      });
  nb::class_<Plan>(module, "Plan", "Where everything goes (docs/plan_format.md).")
      .def(
          "__init__",
          [](Plan* self, std::vector<TableSlice> slices, std::vector<std::vector<int>> shards,
             std::vector<int> replicas, std::vector<int> deduplicated, const TableRows& hot_rows,
             const TableRows& node_rows) {
            new (self) Plan{std::move(slices), std::move(shards), std::move(replicas),
                            std::move(deduplicated), joined(hot_rows, node_rows)};
          },
          "slices"_a, "shards"_a, "replicas"_a = std::vector<int>(),
          "deduplicated"_a = std::vector<int>(), "hot_rows"_a = TableRows(),
          "node_rows"_a = TableRows(),
          "`shards`: for each device, the indices of its slices. `replicas`: tables that every "
          "device holds whole, ascending; they have no slices. `deduplicated`: tables of which "
          "each device asks once for each row, ascending. `hot_rows`: tables, ascending, and how "
          "many of their most popular rows every device holds. `node_rows`: how many of the next "
          "ones each node holds once. Slices have the others, counted from 0. Nothing is checked "
          "before the plan is used.")
      .def_static(
          "from_column_splits",
          [](const NamedTask& task, std::vector<int> column_splits,
             std::vector<std::vector<int>> shards) {
            return plan_from_halvings(task.task, {std::move(column_splits), std::move(shards)});
          },
          "task"_a, "column_splits"_a, "shards"_a,
          "Step i halves slice `column_splits[i]` of a list that starts as the task's tables: the "
          "first half keeps its index, the second is appended. Raises Error if one cannot be "
          "halved.")
      .def_ro("slices", &Plan::slices)
      .def_ro("shards", &Plan::shards, "For each device, the indices of its slices.")
      .def_ro("replicas", &Plan::replicas, "Tables that every device holds whole, ascending.")
      .def_ro("deduplicated", &Plan::deduplicated,
              "Tables of which each device asks once for each row, ascending.")
      .def_prop_ro(
          "hot_rows", [](const Plan& plan) { return table_rows(plan, &HotRows::rows); },
          "Tables, and how many of their most popular rows every device holds.")
      .def_prop_ro(
          "node_rows", [](const Plan& plan) { return table_rows(plan, &HotRows::node_rows); },
          "Tables, and how many of their next most popular rows each node holds once.")
      .def(
          "column_splits",
          [](const Plan& plan, const NamedTask& task) -> std::optional<std::vector<int>> {
            validate(plan, task.task);
            std::optional<HalvedPlan> halved = halvings_of(plan);
            if (!halved) return std::nullopt;
            return std::move(halved->column_splits);
          },
          "task"_a,
          "The splits by which its slices come about, as from_column_splits() takes them, or None: "
          "it has replicas, row blocks, or columns that are no half of a half ... of their table.")
      .def(nb::self == nb::self, nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__repr__", [](const Plan& plan) {
        return "Plan(" + counted(plan.slices.size(), "slice") + ", " +
               (plan.replicas.empty() ? "" : counted(plan.replicas.size(), "replica") + ", ") +
               counted(plan.shards.size(), "device") + ")";
      });
  module.def(
      "slices_by_device",
      [](const NamedTask& task, const Plan& plan) {
        validate(plan, task.task);
        return slices_by_device(plan);
      },
      "task"_a, "plan"_a, "The slices on each device.");
  module.def(
      "hbm_shares",
      [](const NamedTask& task, const Plan& plan) {
        validate(plan, task.task);
        return task.task.host.bytes > 0 ? hosted_plan(task.task, plan).hbm_shares
                                        : std::vector<double>(plan.slices.size(), 1.0);
      },
      "task"_a, "plan"_a,
      "By slice, the share of its rows that HBM has room for; 1 for a task without host memory.");
  module.def(
      "ssd_shares",
      [](const NamedTask& task, const Plan& plan) {
        validate(plan, task.task);
        return task.task.host.ssd_bytes > 0 ? hosted_plan(task.task, plan).ssd_shares
                                            : std::vector<double>(plan.slices.size(), 0.0);
      },
      "task"_a, "plan"_a,
      "By slice, the share of its rows that waits on the SSD; 0 for a task without one.");
  module.def(
      "load_plan",
      [](const std::filesystem::path& path, const NamedTask& task) {
        return one_plan(load_plans(path), task, path.string());
      },
      "path"_a, "task"_a,
      nb::sig("def load_plan(path: str | os.PathLike[str], task: Task) -> Plan"),
      "The plan of a file (docs/plan_format.md), which must be one for `task`.");
  module.def(
      "parse_plan",
      [](std::string_view json, const NamedTask& task) {
        return one_plan(parse_plans(json, "plan"), task, "plan");
      },
      "json"_a, "task"_a, "A plan from the text of such a file.");
}

void bind_plan_problem(nb::module_& module) {
  nb::class_<PlanProblem>(module, "PlanProblem",
                          "Something that is wrong with a plan. Numbers that do not apply are -1.")
      .def_prop_ro(
          "kind", [](const PlanProblem& problem) { return std::string(name_of(problem.kind)); },
          "\"task\", \"split\", \"devices\", \"slice\" or \"memory\".")
      .def_ro("device", &PlanProblem::device)
      .def_ro("slice", &PlanProblem::slice, "In the list after all column splits.")
      .def_ro("table", &PlanProblem::table, "Index into Task.tables.")
      .def_ro("what", &PlanProblem::what)
      .def_ro("remedy", &PlanProblem::remedy)
      .def("__repr__", [](const PlanProblem& problem) { return problem.message(); });
  module.def(
      "check", [](const NamedTask& task, const Plan& plan) { return check_plan(plan, task.task); },
      "task"_a, "plan"_a,
      "Everything that is wrong with a plan for `task`, memory included; empty if nothing is.");
}

void bind_plan_cost(nb::module_& module) {
  nb::class_<CostedTaskPlan> plan_cost(module, "PlanCost",
                                       "Predicted cost of a plan, in milliseconds of a training "
                                       "iteration; arrays have an element per device.");
  plan_cost
      .def_prop_ro(
          "cost_ms", [](const CostedTaskPlan& plan) { return plan.cost.cost_ms; },
          "Cost of the slowest device, or of the host if that takes longer.")
      .def_prop_ro(
          "set_by_host", [](const CostedTaskPlan& plan) { return plan.cost.set_by_host(); },
          "Whether the host (Overlap.host_ms) takes longer than all devices.")
      .def_prop_ro(
          "imbalance", [](const CostedTaskPlan& plan) { return imbalance(plan.cost); },
          "Work of the device that has most over the mean of all; waiting is no work.")
      .def_prop_ro("compute_ms", by_device(&DeviceCost::compute_ms), kOwned,
                   "Forward and backward of the embedding operators.")
      .def_prop_ro("forward_ms", by_device(&DeviceCost::forward_ms), kOwned,
                   "All-to-all of the forward pass, `wait_ms` included.")
      .def_prop_ro(
          "wait_ms", [](const CostedTaskPlan& plan) { return array_of(waits_ms(plan.cost)); },
          kOwned, "How long each waits for the one that is ready last; part of `forward_ms`.")
      .def_prop_ro("backward_ms", by_device(&DeviceCost::backward_ms), kOwned,
                   "All-to-all of the backward pass.")
      .def_prop_ro("ids_ms", by_device(&DeviceCost::ids_ms), kOwned,
                   "All-to-all of the ids; 0 if the weights do not price it.")
      .def_prop_ro("all_reduce_ms", by_device(&DeviceCost::all_reduce_ms), kOwned,
                   "Exchange of replicated tables' gradients, and the update by them.")
      .def_prop_ro("dense_ms", by_device(&DeviceCost::dense_ms), kOwned,
                   "Time of the task's dense part that no all-to-all hides.")
      .def_prop_ro("hidden_ms", by_device(&DeviceCost::hidden_ms), kOwned,
                   "Part of `ids_ms` that runs behind the iteration before.")
      .def_prop_ro("replicas_ms", by_device(&DeviceCost::replicas_ms), kOwned,
                   "Operator of replicated tables; part of `compute_ms`.")
      .def_prop_ro("fetch_ms", by_device(&DeviceCost::fetch_ms), kOwned,
                   "Fetches of rows that wait in the host's memory; part of `compute_ms`.")
      .def_prop_ro("ssd_ms", by_device(&DeviceCost::ssd_ms), kOwned,
                   "Part of `fetch_ms`: reads and writes of the SSD.")
      .def_prop_ro("hidden_fetch_ms", by_device(&DeviceCost::hidden_fetch_ms), kOwned,
                   "Part of `fetch_ms` that runs behind the iteration before.")
      .def_prop_ro("total_ms", by_device(&DeviceCost::total_ms), kOwned)
      .def_prop_ro("memory_bytes", by_device(&DeviceCost::memory_bytes), kOwned,
                   "Memory of slices and replicas: weights, optimizer state and buffers.")
      .def_prop_ro("weight_bytes",
                   by_device([](const DeviceCost& d) { return d.memory.weight_bytes; }), kOwned)
      .def_prop_ro("optimizer_bytes",
                   by_device([](const DeviceCost& d) { return d.memory.optimizer_bytes; }), kOwned)
      .def_prop_ro("buffer_bytes",
                   by_device([](const DeviceCost& d) { return d.memory.buffer_bytes; }), kOwned,
                   "Ids and pooled outputs.")
      .def_prop_ro("reserved_bytes", by_device(&DeviceCost::reserved_bytes), kOwned)
      .def_prop_ro("base_bytes", by_device(&DeviceCost::base_bytes), kOwned,
                   "Memory that is taken already.")
      .def_prop_ro("base_ms", by_device(&DeviceCost::base_ms), kOwned,
                   "Computation that is there already; part of `compute_ms`.")
      .def_prop_ro("speed", by_device(&DeviceCost::speed), kOwned,
                   "Speed of its computation, as a multiple of what the models predict.")
      .def_prop_ro("free_bytes", by_device(&DeviceCost::free_bytes), kOwned,
                   "Below 0: the plan does not fit.")
      .def_prop_ro("host_bytes", by_device(&DeviceCost::host_bytes), kOwned,
                   "Memory of slices in the host.")
      .def_prop_ro("ssd_bytes", by_device(&DeviceCost::ssd_bytes), kOwned,
                   "Bytes of slices on the SSD.")
      .def_prop_ro(
          "ssd_shares", [](const CostedTaskPlan& plan) { return plan.cost.ssd_shares; },
          "By slice, the share of its rows that waits on the SSD; empty: the task has none.")
      .def_prop_ro(
          "hbm_shares", [](const CostedTaskPlan& plan) { return plan.cost.hbm_shares; },
          "By slice, the share of its rows that HBM has room for; empty: the task has no host "
          "memory.")
      .def_prop_ro("dim_sum", by_device(&DeviceCost::dim_sum), kOwned, "Columns of all slices.")
      .def_prop_ro("fits_memory", [](const CostedTaskPlan& plan) { return plan.cost.fits_memory; })
      .def_prop_ro(
          "warning", [](const CostedTaskPlan& plan) { return plan.cost.warning; },
          "Not empty if a predicted time is negative.")
      .def_ro("plan", &CostedTaskPlan::plan)
      .def(
          "to_json", [](const CostedTaskPlan& plan) { return plan_to_json(document_of(plan)); },
          "The document of docs/plan_format.md.")
      .def("__repr__", [](const CostedTaskPlan& plan) { return page_of(plan); });
  add_html_methods(plan_cost, [](const CostedTaskPlan& plan) { return html_of(plan); });
  plan_cost.def(
      "to_html",
      [](const CostedTaskPlan& plan, const CostedTaskPlan& beside, std::string name,
         const std::vector<std::array<std::string, 3>>& figures) {
        tools::ComparedPlan other{std::move(name), beside.task->task, beside.plan, beside.cost};
        for (const auto& [label, here, there] : figures) {
          other.figures.push_back({label, here, there});
        }
        return tools::html_report(document_of(plan), {.running = std::move(other)});
      },
      "beside"_a, "name"_a = "the other plan",
      "figures"_a = std::vector<std::array<std::string, 3>>(),
      "The page with another plan beside this one: tables go by their names. `figures`: a name and "
      "what it is of this plan and of the other one.");
}

void bind_plan_result(nb::module_& module) {
  nb::class_<Infeasibility>(module, "Infeasibility", "Why there is no plan, or none was found.")
      .def_prop_ro(
          "kind", [](const Infeasibility& why) { return std::string(name_of(why.kind)); },
          "\"total_memory\", \"piece_too_large\", \"packing\", \"rules\" or \"no_time\".")
      .def_ro("message", &Infeasibility::message)
      .def_ro("needed_bytes", &Infeasibility::needed_bytes, "All tables together.")
      .def_ro("available_bytes", &Infeasibility::available_bytes, "All devices together.")
      .def_ro("largest_piece_bytes", &Infeasibility::largest_piece_bytes,
              "The largest piece that fits nowhere.")
      .def_ro("table", &Infeasibility::table, "Table that this piece is of; -1: none.")
      .def("__repr__", [](const Infeasibility& why) { return why.message; });
  nb::class_<SearchStats>(module, "SearchStats", "How much a search did.")
      .def_ro("backend", &SearchStats::backend)
      .def_ro("warning", &SearchStats::warning)
      .def_ro("search_ms", &SearchStats::search_ms)
      .def_ro("candidates", &SearchStats::candidates)
      .def_ro("placements", &SearchStats::placements)
      .def_ro("edits", &SearchStats::edits)
      .def_ro("head_evaluations", &SearchStats::head_evaluations)
      .def_ro("comm_evaluations", &SearchStats::comm_evaluations);
  nb::class_<TaskPlanResult> plan_result(module, "PlanResult",
                                         "A plan with its cost, or why there is none.");
  plan_result
      .def_prop_ro(
          "plan", [](const TaskPlanResult& result) { return result.result.plan; },
          "None: see `infeasible`.")
      .def_prop_ro(
          "cost",
          [](const TaskPlanResult& result) -> std::optional<CostedTaskPlan> {
            if (!result.result.plan) return std::nullopt;
            return CostedTaskPlan{result.task, result.weights, *result.result.plan,
                                  result.result.cost};
          },
          "None if there is no plan.")
      .def_prop_ro("infeasible",
                   [](const TaskPlanResult& result) { return result.result.infeasible; })
      .def_prop_ro(
          "complete", [](const TaskPlanResult& result) { return result.result.complete; },
          "False if the deadline ended the search early.")
      .def_prop_ro(
          "alternatives",
          [](const TaskPlanResult& result) {
            std::vector<CostedTaskPlan> others;
            for (const CostedPlan& other : result.result.alternatives) {
              others.push_back({result.task, result.weights, other.plan, other.cost});
            }
            return others;
          },
          "Other plans, cheapest first, as many as were asked for and come across.")
      .def_prop_ro("stats", [](const TaskPlanResult& result) { return result.result.stats; })
      .def_prop_ro("task", [](const TaskPlanResult& result) { return result.task; })
      .def(
          "slices_by_device",
          [](const TaskPlanResult& result) {
            return result.result.plan ? slices_by_device(*result.result.plan)
                                      : std::vector<std::vector<TableSlice>>{};
          },
          "The slices on each device; none if there is no plan.")
      .def("to_json", &json_of, "The document of docs/plan_format.md.")
      .def("__repr__", [](const TaskPlanResult& result) { return page_of(result); });
  add_html_methods(plan_result, [](const TaskPlanResult& result) { return html_of(result); });
}

}  // namespace

std::string title_of(const NamedTask& task) { return task.name.empty() ? "task" : task.name; }

PlanDocument document_of(const CostedTaskPlan& plan) {
  return {.task = plan.task->task,
          .plan = plan.plan,
          .cost = plan.cost,
          .task_name = title_of(*plan.task),
          .weights = plan.weights,
          .notes = plan.task->notes};
}

PlanDocument document_of(const TaskPlanResult& found) {
  PlanDocument document =
      document_of(CostedTaskPlan{found.task, found.weights, *found.result.plan, found.result.cost});
  document.stats = found.result.stats;
  document.complete = found.result.complete;
  document.alternatives = found.result.alternatives;
  return document;
}

std::string page_of(const TaskPlanResult& result) {
  if (result.result.plan) return tools::plan_page(document_of(result), kPageStyle);
  return "no plan: " + printable(title_of(*result.task)) + ": " +
         result.result.infeasible->message + "\n";
}

std::string html_of(const TaskPlanResult& result) {
  return result.result.plan ? tools::html_report(document_of(result))
                            : tools::html_report(no_plan_document_of(result));
}

NoPlanDocument no_plan_document_of(const TaskPlanResult& result) {
  return {.task = result.task->task,
          .infeasible = *result.result.infeasible,
          .task_name = title_of(*result.task),
          .weights = result.weights,
          .notes = result.task->notes};
}

void bind_plans(nb::module_& module) {
  bind_plan(module);
  bind_plan_problem(module);
  bind_plan_cost(module);
  bind_plan_result(module);
}

}  // namespace neuroshard::python
