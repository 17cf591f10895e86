#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "neuroshard/error.h"
#include "neuroshard/search_options.h"
#include "neuroshard/version.h"
#include "tools/python/bindings/bindings.h"
#include "tools/python/bindings/python_error.h"

namespace nb = nanobind;

namespace {

/// As in Python, classes that define equality and no hash have none. That of their identity would
/// tell equal values apart.
void leave_out_hashes_of_identity(const nb::module_& module) {
  for (const auto& [name, value] : nb::cast<nb::dict>(module.attr("__dict__"))) {
    if (!nb::type_check(value)) continue;
    const auto own = nb::cast<nb::mapping>(value.attr("__dict__"));
    if (own.contains("__eq__") && !own.contains("__hash__")) value.attr("__hash__") = nb::none();
  }
}

}  // namespace

NB_MODULE(_core, module) {
  module.doc() = "The library, for the Python package neuroshard.";
  nb::register_exception_translator([](const std::exception_ptr& exception, void*) {
    try {
      std::rethrow_exception(exception);
    } catch (const neuroshard::Error& error) {
      const nb::object raised = neuroshard::python::python_error_of(error);
      PyErr_SetObject(raised.type().ptr(), raised.ptr());
    }
  });
  module.attr("version") = NEUROSHARD_VERSION;
  module.def("backends", &neuroshard::backends,
             "All backends in the order of preference; whether one works shows when it is used.");
  neuroshard::python::bind_exchange(module);
  neuroshard::python::bind_host_memory(module);
  neuroshard::python::bind_overlap(module);
  neuroshard::python::bind_tasks(module);
  neuroshard::python::bind_plans(module);
  neuroshard::python::bind_planner(module);
  neuroshard::python::bind_analytic_costs(module);
  neuroshard::python::bind_collections(module);
  neuroshard::python::bind_fitting(module);
  neuroshard::python::bind_states();
  leave_out_hashes_of_identity(module);
}
