#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <tuple>
#include <utility>
#include <variant>

#include "neuroshard/what_if.h"
#include "tools/python/bindings/bindings.h"
#include "tools/python/bindings/python_planner.h"

namespace neuroshard::python {
namespace {

namespace nb = nanobind;
using nb::literals::operator""_a;

/// Their number, bytes of one if they are not the task's, and if given those of its host.
using Devices = std::variant<std::tuple<int, std::optional<std::int64_t>>,
                             std::tuple<int, std::optional<std::int64_t>, std::int64_t>>;

nb::list plan_variants(const PythonPlanner& planner, const std::shared_ptr<NamedTask>& task,
                       const std::vector<Devices>& variants, std::optional<double> deadline_ms) {
  PlanRequest request = timed_request(deadline_ms);
  std::vector<TaskVariant> asked;
  std::vector<std::shared_ptr<NamedTask>> tasks;
  std::size_t size = 0;
  for (const Devices& variant : variants) {
    const auto stated = [](auto... values) { return TaskVariant{values...}; };
    asked.push_back(
        std::visit([&](const auto& values) { return std::apply(stated, values); }, variant));
    tasks.push_back(std::make_shared<NamedTask>(*task));
    tasks.back()->task = task_with(task->task, asked.back());
    size += size_of(tasks.back()->task);
  }
  std::vector<PlanOutcome> outcomes;
  run_search(planner, size, [&](std::stop_token stop) {
    request.stop = std::move(stop);
    outcomes = neuroshard::plan_variants(planner.planner, task->task, asked, request);
  });
  return list_of(planner, tasks, std::move(outcomes));
}

}  // namespace

void bind_what_ifs(nb::class_<PythonPlanner>& planner) {
  planner.def(
      "plan_variants", &plan_variants, "task"_a, "variants"_a, nb::kw_only(),
      "deadline_ms"_a = nb::none(),
      nb::sig("def plan_variants(self, task: Task, variants: "
              "collections.abc.Sequence[tuple[int, int | None] | tuple[int, int | None, int]], "
              "*, deadline_ms: float | None = None) -> list[PlanResult | Exception]"),
      "Plans `task` on other devices: a result for each (devices, bytes of one device) of "
      "`variants`, or (devices, bytes of one device, bytes of host memory) with "
      "HostMemory.bytes in place of the task's. None: each device has what the task says. More "
      "memory never costs more.");
}

}  // namespace neuroshard::python
