#include "tools/python/bindings/python_planner.h"

#include <utility>

#include "neuroshard/error.h"
#include "tools/python/bindings/interruptible.h"
#include "tools/python/bindings/python_error.h"

namespace neuroshard::python {
namespace {

// Smaller searches are over before anybody presses Ctrl-C.
constexpr std::size_t kLongSearch = 1000;  // Tables times devices.

}  // namespace

void run_search(const PythonPlanner& planner, std::size_t size,
                const std::function<void(std::stop_token)>& work) {
  (planner.thorough || size >= kLongSearch ? run_interruptibly : run_unlocked)(work);
}

std::size_t size_of(const Task& task) {
  return task.tables.size() * static_cast<std::size_t>(task.devices);
}

PlanRequest timed_request(std::optional<double> deadline_ms) {
  PlanRequest request;
  if (!deadline_ms) return request;
  request.deadline = deadline_in(*deadline_ms);
  if (request.deadline) return request;
  throw Error("deadline_ms is not a time; give between 0 and 1e9 milliseconds, or None");
}

nanobind::list list_of(const PythonPlanner& planner,
                       std::span<const std::shared_ptr<NamedTask>> tasks,
                       std::vector<PlanOutcome> outcomes) {
  nanobind::list results;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (outcomes[i]) {
      results.append(nanobind::cast(
          TaskPlanResult{tasks[i], planner.weights->origin, std::move(outcomes[i]).value()}));
    } else {
      results.append(python_error_of(outcomes[i].error()));
    }
  }
  return results;
}

}  // namespace neuroshard::python
