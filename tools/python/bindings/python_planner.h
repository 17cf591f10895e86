#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "neuroshard/plan_outcome.h"
#include "neuroshard/plan_request.h"
#include "neuroshard/planner.h"
#include "tools/python/bindings/values.h"

namespace neuroshard::python {

/// Contents of Python's Planner.
struct PythonPlanner {
  std::shared_ptr<Weights> weights;
  Planner planner;
  bool thorough = false;
};

/// Runs `work` without Python's lock, so that Ctrl-C ends it if it may take long: `size` is the sum
/// of tables times devices.
void run_search(const PythonPlanner& planner, std::size_t size,
                const std::function<void(std::stop_token)>& work);

[[nodiscard]] std::size_t size_of(const Task& task);

/// The deadline counts from now. Throws Error if it is not a time.
[[nodiscard]] PlanRequest timed_request(std::optional<double> deadline_ms);

/// PlanResults, and exceptions in the place of those that there are not.
[[nodiscard]] nanobind::list list_of(const PythonPlanner& planner,
                                     std::span<const std::shared_ptr<NamedTask>> tasks,
                                     std::vector<PlanOutcome> outcomes);

}  // namespace neuroshard::python
