#pragma once

#include <string>
#include <vector>

#include "neuroshard/plan_file.h"

namespace neuroshard::tools {

/// A plan that a report shows beside its own: the one that runs, of its own task, or another that
/// the search came across.
struct ComparedPlan {
  /// A figure of both plans that comes from elsewhere.
  struct Figure {
    std::string name;
    std::string here;  ///< The report's plan has it.
    std::string there;
  };

  std::string name;
  Task task;
  Plan plan;
  PlanCost cost;
  std::vector<Figure> figures{};  ///< Shown if the plan is the only one beside.
};

/// A panel of HTML: figures of the report's plan and of `others`, a column each, and the tables
/// that are sharded or placed differently in the first of them, those first of which most is moved,
/// or which cost most. Empty if there are no others.
[[nodiscard]] std::string comparison_panel(const PlanDocument& document,
                                           const std::vector<ComparedPlan>& others,
                                           const std::vector<double>& table_ms);

}  // namespace neuroshard::tools
