#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "neuroshard/planner.h"
#include "tools/text/text.h"

namespace neuroshard::tools {

/// Output of `--format table` for more than one task: a row for each, then totals.
class BatchReport {
 public:
  BatchReport();

  void add(int index, const Task& task, const PlanResult& result);
  /// A plan that was given, not searched for.
  void add(int index, const Task& task, const Plan& plan, const PlanCost& cost);
  void add_without_plan(int index, const Task& task, const std::string& reason);
  /// A task that was not planned, since it is invalid or planning failed.
  void add_error(int index, const std::string& reason);

  /// `read_ms` is what reading all tasks took, `weights` says where the cost models come from.
  [[nodiscard]] std::string page(double read_ms, const std::string& weights,
                                 const std::vector<std::string>& notes,
                                 const TextStyle& style) const;

 private:
  void add_cost(int index, const Task& task, const Plan& plan, const PlanCost& cost,
                std::string last);

  TextTable table_;
  std::size_t planned_ = 0;
  std::size_t others_ = 0;  ///< Without a plan.
  double cost_ms_ = 0.0;
};

}  // namespace neuroshard::tools
