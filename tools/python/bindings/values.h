#pragma once

#include <memory>
#include <string>
#include <vector>

#include "neuroshard/cost_models.h"
#include "neuroshard/plan_file.h"
#include "neuroshard/plan_result.h"
#include "neuroshard/task.h"

// Contents of the classes of the Python package beside those of the library. All are immutable, so
// that many may share one.

namespace neuroshard::python {

struct NamedTask {
  Task task;
  std::string name;                ///< May be empty.
  std::vector<std::string> notes;  ///< Assumptions that were made.
};

struct Weights {
  CostModels models;
  std::string origin;  ///< Where they come from, as pages and plans say.
};

/// A plan with its cost. Knows its task, so that it can be shown.
struct CostedTaskPlan {
  std::shared_ptr<NamedTask> task;
  std::string weights;
  Plan plan;
  PlanCost cost;
};

/// Result of a search.
struct TaskPlanResult {
  std::shared_ptr<NamedTask> task;
  std::string weights;
  PlanResult result;
};

/// Title of pages and documents.
[[nodiscard]] std::string title_of(const NamedTask& task);

/// The page that the program prints.
[[nodiscard]] std::string page_of(const TaskPlanResult& result);

/// The report of `neuroshard plan --report`.
[[nodiscard]] std::string html_of(const TaskPlanResult& result);

/// Document that the library writes as JSON and the program draws as a page.
[[nodiscard]] PlanDocument document_of(const CostedTaskPlan& plan);
/// `result` has a plan.
[[nodiscard]] PlanDocument document_of(const TaskPlanResult& result);
/// `result` has none.
[[nodiscard]] NoPlanDocument no_plan_document_of(const TaskPlanResult& result);

}  // namespace neuroshard::python
