#pragma once

#include <nanobind/nanobind.h>

// The parts of the extension module, in the order in which their classes need each other.

namespace neuroshard::python {

void bind_exchange(nanobind::module_& module);
void bind_host_memory(nanobind::module_& module);
void bind_overlap(nanobind::module_& module);
void bind_tasks(nanobind::module_& module);   ///< And bind_tables().
void bind_tables(nanobind::module_& module);  ///< With their rules and groups.
void bind_plans(nanobind::module_& module);
void bind_planner(nanobind::module_& module);
void bind_analytic_costs(nanobind::module_& module);
void bind_collections(nanobind::module_& module);
void bind_fitting(nanobind::module_& module);

/// copy.copy(), copy.deepcopy() and pickle, of classes that are bound.
void bind_states();

// Methods of the class Planner, and what they return.
struct PythonPlanner;
void bind_replanning(nanobind::module_& module, nanobind::class_<PythonPlanner>& planner);
void bind_explanations(nanobind::module_& module, nanobind::class_<PythonPlanner>& planner);
void bind_groups(nanobind::module_& module, nanobind::class_<PythonPlanner>& planner);
void bind_what_ifs(nanobind::class_<PythonPlanner>& planner);

}  // namespace neuroshard::python
