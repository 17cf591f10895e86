#include <nanobind/nanobind.h>
#include <nanobind/operators.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <utility>
#include <variant>

#include "neuroshard/error.h"
#include "neuroshard/hardware.h"
#include "neuroshard/planner.h"
#include "neuroshard/policy_file.h"
#include "neuroshard/weights.h"
#include "tools/python/bindings/bindings.h"
#include "tools/python/bindings/python_error.h"
#include "tools/python/bindings/python_planner.h"
#include "tools/python/bindings/values.h"

namespace neuroshard::python {
namespace {

namespace nb = nanobind;
using nb::literals::operator""_a;

/// An Improvement that may be kept.
struct ImprovedPlan {
  Plan plan;
  double cost_ms = 0.0;
  double elapsed_ms = 0.0;
  std::string stage;
};

using OnImprovement = std::optional<std::function<void(const ImprovedPlan&)>>;

// Called with Python's lock held.
const std::shared_ptr<Weights>& shared_builtin_weights(const std::string& hardware) {
  static std::map<std::string, std::shared_ptr<Weights>> all;
  const CostModels& models = [&]() -> const CostModels& {
    const nb::gil_scoped_release unlocked;  // Scaling takes a second.
    return builtin_weights(hardware);
  }();
  std::shared_ptr<Weights>& weights = all[hardware];
  if (!weights) {
    weights =
        std::make_shared<Weights>(Weights{models, origin_of(models, builtin_place(hardware))});
  }
  return weights;
}

std::shared_ptr<Weights> weights_of(const std::variant<std::string, Hardware>& hardware) {
  if (const auto* name = std::get_if<std::string>(&hardware)) return shared_builtin_weights(*name);
  const Hardware& datasheet = std::get<Hardware>(hardware);
  const nb::gil_scoped_release unlocked;
  CostModels models = builtin_weights(datasheet);
  std::string origin = origin_of(models, builtin_place(datasheet.name));
  return std::make_shared<Weights>(std::move(models), std::move(origin));
}

TaskPlanResult plan(const PythonPlanner& planner, std::shared_ptr<NamedTask> task,
                    std::optional<double> deadline_ms, int alternatives,
                    const OnImprovement& on_improvement) {
  PlanRequest request = timed_request(deadline_ms);
  request.alternatives = alternatives;
  if (on_improvement) {
    request.on_improvement = [&](const Improvement& better) {
      const nb::gil_scoped_acquire locked;
      (*on_improvement)({better.plan, better.cost.cost_ms, better.elapsed_ms,
                         std::string(name_of(better.stage))});
    };
  }
  TaskPlanResult result{std::move(task), planner.weights->origin, {}};
  run_search(planner, size_of(result.task->task), [&](std::stop_token stop) {
    request.stop = std::move(stop);
    result.result = planner.planner.plan(result.task->task, request);
  });
  return result;
}

nb::list plan_batch(const PythonPlanner& planner,
                    const std::vector<std::shared_ptr<NamedTask>>& tasks,
                    std::optional<double> deadline_ms, int alternatives) {
  PlanRequest request = timed_request(deadline_ms);
  request.alternatives = alternatives;
  std::vector<Task> plain;
  plain.reserve(tasks.size());
  std::size_t size = 0;
  for (const auto& task : tasks) {
    if (!task) throw nb::type_error("tasks holds None; give tasks only");
    size += size_of(plain.emplace_back(task->task));
  }
  std::vector<PlanOutcome> outcomes;
  run_search(planner, size, [&](std::stop_token stop) {
    request.stop = std::move(stop);
    outcomes = planner.planner.plan_batch(plain, request);
  });
  return list_of(planner, tasks, std::move(outcomes));
}

CostedTaskPlan simulate(const PythonPlanner& planner, std::shared_ptr<NamedTask> task,
                        const Plan& plan) {
  CostedTaskPlan costed{std::move(task), planner.weights->origin, plan, {}};
  const nb::gil_scoped_release unlocked;
  costed.cost = planner.planner.simulate(costed.task->task, costed.plan);
  return costed;
}

/// The rate of the GPU that the compute costs are of; nothing if there is no datasheet of it.
std::optional<double> memory_gb_s(const Weights& weights) {
  const auto gpu = weights.models.metadata.find("compute.hardware");
  if (gpu == weights.models.metadata.end()) return std::nullopt;
  try {
    return gpu_named(gpu->second).hbm_gb_per_s;
  } catch (const Error&) {
    return std::nullopt;
  }
}

void bind_hardware(nb::module_& module) {
  nb::class_<Hardware>(module, "Hardware", "A datasheet of your own (docs/task_format.md).")
      .def(
          "__init__",
          [](Hardware* self, double memory_gb_s, double l2_mib, int multiprocessors,
             double clock_ghz, const NodeLinks& links, int devices_per_node,
             const std::string& name) {
            new (self) Hardware(stated_hardware(name, memory_gb_s, l2_mib, multiprocessors,
                                                clock_ghz, {devices_per_node, links}, "hardware"));
          },
          "memory_gb_s"_a, "l2_mib"_a, "multiprocessors"_a, "clock_ghz"_a, "links"_a, nb::kw_only(),
          "devices_per_node"_a = kDefaultDevicesPerNode, "name"_a = std::string(kUnnamedHardware),
          "GB/s (1e9 bytes) of the memory, MiB of the L2, multiprocessors and their highest clock "
          "(GHz), and what connects devices: `in_node_gb_s` and `between_nodes_gb_s` at least. "
          "Raises Error if a number is none of hardware.")
      .def_ro("name", &Hardware::name)
      .def(nb::self == nb::self, nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__repr__", [](const Hardware& hardware) { return "Hardware(" + hardware.name + ")"; });
}

void bind_weights(nb::module_& module) {
  nb::class_<Weights>(module, "Weights", "Cost models: what the search knows of the hardware.")
      .def_static("builtin", &weights_of, "hardware"_a = std::string(kDefaultHardware),
                  nb::sig("def builtin(hardware: str | Hardware = 'a100') -> Weights"),
                  "Weights compiled into the package, for \"a100\", \"h100\" or \"h200\". For "
                  "other hardware (docs/model_card.md) and datasheets, they are scaled from these "
                  "in a second; see `metadata`.")
      .def_static(
          "load",
          [](const std::filesystem::path& path) {
            CostModels models = load_weights(path);
            std::string origin = origin_of(models, path.string());
            return std::make_shared<Weights>(std::move(models), std::move(origin));
          },
          "path"_a, nb::sig("def load(path: str | os.PathLike[str]) -> Weights"),
          "A weights file (docs/weights_format.md).")
      .def_prop_ro(
          "metadata", [](const Weights& weights) { return weights.models.metadata; },
          "Hardware, source, and what else was written down.")
      .def_ro("origin", &Weights::origin, "Where they come from, as pages and plans say.")
      .def_prop_ro(
          "memory_gb_s", &memory_gb_s,
          "GB/s of the memory of the GPU that compute costs are for; None: it has no datasheet.")
      .def(
          "has_comm_for",
          [](const Weights& weights, int devices) { return weights.models.has_comm_for(devices); },
          "devices"_a, "Whether they can price plans for so many devices.")
      .def_prop_ro(
          "prices_replicas",
          [](const Weights& weights) { return weights.models.prices_replicas(); },
          "Whether they know what tables cost that every device holds.")
      .def_prop_ro(
          "prices_node_blocks",
          [](const Weights& weights) {
            return weights.models.kind_prices.contains(ShardingKind::kTableRow);
          },
          "Whether they have a price of row blocks over the devices of a node, by which the search "
          "chooses tables for them.")
      .def("__repr__", [](const Weights& weights) { return "Weights(" + weights.origin + ")"; });
}

void bind_planner_class(nb::module_& module) {
  nb::class_<ImprovedPlan>(module, "Improvement", "A plan that is better than all before it.")
      .def_ro("plan", &ImprovedPlan::plan)
      .def_ro("cost_ms", &ImprovedPlan::cost_ms)
      .def_ro("elapsed_ms", &ImprovedPlan::elapsed_ms, "Time since the search began.")
      .def_ro("stage", &ImprovedPlan::stage, "Part of the search that found it.");
  auto planner =
      nb::class_<PythonPlanner>(
          module, "Planner",
          "Finds plans of lowest predicted cost. Making one takes some milliseconds: keep it, and "
          "share "
          "it between threads, which plan side by side since Python's lock is released meanwhile.")
          .def(
              "__init__",
              [](PythonPlanner* self, std::shared_ptr<Weights> weights,
                 const std::string& algorithm, const std::string& effort,
                 const std::string& backend, int threads, std::uint64_t seed, bool equal_widths,
                 const std::optional<std::string>& cuts,
                 const std::optional<std::filesystem::path>& policy) {
                if (!weights) weights = shared_builtin_weights(std::string(kDefaultHardware));
                PlannerOptions options{.algorithm = algorithm_from_name(algorithm),
                                       .effort = effort_from_name(effort),
                                       .equal_widths = equal_widths,
                                       .backend = backend,
                                       .threads = threads,
                                       .seed = seed};
                if (cuts) options.cuts = cuts_from_name(*cuts);
                if (policy) {
                  options.policy = std::make_shared<const PlacementPolicy>(load_policy(*policy));
                }
                const bool thorough = options.effort == Effort::kThorough;
                Planner planner(weights->models, std::move(options));
                new (self) PythonPlanner{std::move(weights), std::move(planner), thorough};
              },
              "weights"_a = nb::none(), nb::kw_only(), "algorithm"_a = "neuroshard",
              "effort"_a = "default", "backend"_a = "auto", "threads"_a = 0, "seed"_a = 0,
              "equal_widths"_a = false, "cuts"_a = nb::none(), "policy"_a = nb::none(),
              nb::sig("def __init__(self, weights: Weights | None = None, *, algorithm: str = "
                      "'neuroshard', effort: str = 'default', backend: str = 'auto', threads: int "
                      "= 0, seed: int = 0, equal_widths: bool = False, cuts: str | None = None, "
                      "policy: str | os.PathLike[str] | None = None) -> None"),
              "`weights`: None for the built-in ones. `effort`: \"fast\", \"default\" or "
              "\"thorough\". `backend`: \"auto\" or one of backends(). `threads`: for one plan or "
              "batch; 0: one per core. `seed`: for algorithm \"random\". `equal_widths`: cut each "
              "table to slices of one width. `cuts`: \"any\", also replicated where that is "
              "cheaper and by rows where columns alone find no room; \"columns\"; or None: any, "
              "unless the weights do not say what they were trained on, as published checkpoints "
              "do not. `policy`: a file of 'train policy', which the algorithms \"dreamshard\" and "
              "\"autoshard\" need.")
          .def("plan", &plan, "task"_a, nb::kw_only(), "deadline_ms"_a = nb::none(),
               "alternatives"_a = 0, "on_improvement"_a = nb::none(),
               "The plan of lowest predicted cost that was found. A task that cannot fit is a "
               "result, with the reason. `deadline_ms`: return the best plan found by then, "
               "counted from the call. `alternatives`: how many other plans to return, 0 to 1,000. "
               "`on_improvement` is called for each better plan. Raises Error on an invalid task. "
               "Ctrl-C ends searches of effort \"thorough\", and of tasks with 1,000 or more "
               "tables times devices.")
          .def("plan_batch", &plan_batch, "tasks"_a, nb::kw_only(), "deadline_ms"_a = nb::none(),
               "alternatives"_a = 0,
               nb::sig(
                   "def plan_batch(self, tasks: collections.abc.Sequence[Task], *, deadline_ms: "
                   "float | None = None, alternatives: int = 0) -> list[PlanResult | Exception]"),
               "Many tasks at once. In place of a result there is the Error that plan() would "
               "raise. A deadline is for all tasks together.")
          .def("simulate", &simulate, "task"_a, "plan"_a,
               "Predicted cost of any plan for `task`. Raises Error unless it places every column "
               "of "
               "every table once; one that exceeds memory has a cost all the same, and says so.")
          .def(
              "fingerprint",
              [](const PythonPlanner& planner, const NamedTask& task) {
                const nb::gil_scoped_release unlocked;
                return planner.planner.fingerprint(task.task);
              },
              "task"_a,
              "A number that stands for task, options and cost models, by which plans can be kept "
              "(docs/fingerprint.md).")
          .def_prop_ro("weights", [](const PythonPlanner& planner) { return planner.weights; })
          .def_prop_ro(
              "backend",
              [](const PythonPlanner& planner) { return std::string(planner.planner.backend()); },
              "Backend in use.");
  bind_replanning(module, planner);
  bind_explanations(module, planner);
  bind_groups(module, planner);
  bind_what_ifs(planner);
}

}  // namespace

void bind_planner(nb::module_& module) {
  bind_hardware(module);
  bind_weights(module);
  bind_planner_class(module);
}

}  // namespace neuroshard::python
