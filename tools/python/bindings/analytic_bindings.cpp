#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <utility>

#include "neuroshard/cost_bound.h"
#include "neuroshard/hardware.h"
#include "tools/python/bindings/bindings.h"
#include "tools/python/bindings/values.h"
#include "weights/collection/analytic_plan_cost.h"

namespace neuroshard::python {
namespace {

namespace nb = nanobind;
using nb::literals::operator""_a;

CostedTaskPlan analytic_cost(std::shared_ptr<NamedTask> task, const Plan& plan,
                             std::string_view gpu_name, std::string_view network_name) {
  const GpuSpec& gpu = gpu_named(gpu_name);
  const NetworkSpec& network = network_named(network_name);
  CostedTaskPlan costed{std::move(task), analytic_origin(gpu, network), plan, {}};
  const nb::gil_scoped_release unlocked;
  costed.cost = analytic_plan_cost(gpu, network, costed.task->task, costed.plan);
  return costed;
}

double cost_bound(const NamedTask& task, std::string_view gpu_name, std::string_view network_name) {
  const GpuSpec& gpu = gpu_named(gpu_name);
  const NetworkSpec& network = network_named(network_name);
  const nb::gil_scoped_release unlocked;
  return cost_bound_ms(gpu, network, task.task);
}

}  // namespace

void bind_analytic_costs(nb::module_& module) {
  module.def("analytic_cost", &analytic_cost, "task"_a, "plan"_a, nb::kw_only(),
             "gpu"_a = kDefaultGpu, "network"_a = kDefaultNetwork,
             "Cost of a plan as simulate() gives it, but computed from datasheets of named "
             "hardware in place of cost models (docs/analytic_costs.md). Raises Error if a name is "
             "not known, or unless `plan` places every row and column of every table once.");
  module.def(
      "cost_bound", &cost_bound, "task"_a, nb::kw_only(), "gpu"_a = kDefaultGpu,
      "network"_a = kDefaultNetwork,
      "Milliseconds that no plan of `task` is below by analytic_cost(), if it fits and keeps "
      "all rules (docs/bound.md). Infinite if there is no such plan. Raises Error if a name "
      "is not known.");
}

}  // namespace neuroshard::python
