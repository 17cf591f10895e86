#include "tools/plan_pages/bound_text.h"

#include <algorithm>

#include "core/base/message_text.h"
#include "neuroshard/cost_bound.h"
#include "neuroshard/error.h"
#include "neuroshard/plan_check.h"
#include "weights/collection/analytic_plan_cost.h"

namespace neuroshard::tools {

/// Bounds are as precise.
static constexpr double kSame = 1e-6;

std::string PlanBound::text() const {
  if (!any_plan()) {
    return std::string("no plan keeps all rules and fits") +
           (short_bytes > 0 ? ": " + format_bytes(short_bytes) + " are short" : "");
  }
  std::string text = "no plan costs less than " + format_number(bound_ms, 3) + " ms";
  if (cost_ms) {
    text += ", this one costs " + format_number(*cost_ms, 3) + " ms";
    const double gap = *cost_ms / bound_ms - 1.0;
    text += gap <= kSame ? ": there is no better one" : ", " + format_percent(gap, 1) + " more";
  }
  return text + " (" + prices + ")";
}

PlanBound bound_of(const Hardware& machine, const Task& task, const Plan* plan) {
  PlanBound bound{
      .prices = "analytic costs of " + printable(machine.gpu.name) + ", " +
                printable(machine.network.name),
      .bound_ms = cost_bound_ms(machine.gpu, machine.network, task),
      .short_bytes = std::max<std::int64_t>(0, total_bytes(task) - total_room_bytes(task))};
  if (plan != nullptr) {
    for (const PlanProblem& problem : check_plan(*plan, task)) {
      throw Error("plan: " + problem.message() + "; the bound is one of valid plans");
    }
    bound.cost_ms = analytic_plan_cost(machine.gpu, machine.network, task, *plan).cost_ms;
  }
  return bound;
}

std::optional<PlanBound> quick_bound_of(const Hardware& machine, const Task& task,
                                        const Plan& plan) {
  // With fewer tables a device the bound tries more ways to cut each, for up to some seconds.
  constexpr std::size_t kQuickTablesPerDevice = 8;
  const std::size_t many = kQuickTablesPerDevice * static_cast<std::size_t>(task.devices);
  if (task.tables.size() <= many || !check_plan(plan, task).empty()) return std::nullopt;
  return bound_of(machine, task, &plan);
}

}  // namespace neuroshard::tools
