#include "tools/planning/batch_report.h"

#include "neuroshard/waiting.h"
#include "tools/plan_pages/plan_report.h"

namespace neuroshard::tools {

BatchReport::BatchReport()
    : table_({TextTable::Align::kRight, TextTable::Align::kRight, TextTable::Align::kRight,
              TextTable::Align::kRight, TextTable::Align::kRight, TextTable::Align::kRight,
              TextTable::Align::kLeft}) {
  table_.add_row({"task", "tables", "devices", "cost ms", "imbalance", "splits", "search ms"});
}

void BatchReport::add_cost(int index, const Task& task, const Plan& plan, const PlanCost& cost,
                           std::string last) {
  table_.add_row({std::to_string(index), format_count(task.tables.size()),
                  format_count(static_cast<std::uint64_t>(task.devices)), format_ms(cost.cost_ms),
                  format_number(imbalance(cost), 3),
                  format_count(plan.slices.size() - task.tables.size()), std::move(last)});
  ++planned_;
  cost_ms_ += cost.cost_ms;
}

void BatchReport::add(int index, const Task& task, const PlanResult& result) {
  if (result.plan) {
    add_cost(index, task, *result.plan, result.cost, format_ms(result.stats.search_ms));
  } else {
    add_without_plan(index, task, result.infeasible ? result.infeasible->message : "no plan");
  }
}

void BatchReport::add(int index, const Task& task, const Plan& plan, const PlanCost& cost) {
  if (cost.fits_memory) {
    add_cost(index, task, plan, cost, "");
  } else {
    add_without_plan(index, task, "the plan exceeds the device memory");
  }
}

void BatchReport::add_without_plan(int index, const Task& task, const std::string& reason) {
  table_.add_row({std::to_string(index), format_count(task.tables.size()),
                  format_count(static_cast<std::uint64_t>(task.devices)), "-", "-", "-",
                  printable(reason)});
  ++others_;
}

void BatchReport::add_error(int index, const std::string& reason) {
  table_.add_row({std::to_string(index), "-", "-", "-", "-", "-", printable(reason)});
  ++others_;
}

std::string BatchReport::page(double read_ms, const std::string& weights,
                              const std::vector<std::string>& notes, const TextStyle& style) const {
  std::string text = table_.str() + '\n';
  const auto add = [&](const char* label, const std::string& line) {
    text += paragraph(label, line, 11, style);
  };
  add("planned", format_count(planned_) + " of " + format_count(planned_ + others_) + " tasks");
  if (planned_ > 0) add("mean cost", format_ms(cost_ms_ / static_cast<double>(planned_)) + " ms");
  add("read", "all tasks in " + format_ms(read_ms) + " ms");
  add("weights", printable(weights));
  for (const std::string& note : notes) add("note", printable(note));
  return text;
}

}  // namespace neuroshard::tools
