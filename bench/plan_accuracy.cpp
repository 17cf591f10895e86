#include "bench/plan_accuracy.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "neuroshard/simulator.h"
#include "search/uniform_baseline.h"
#include "weights/collection/analytic_plan_cost.h"

namespace neuroshard::bench {

std::optional<Plan> uniform_width_plan(const Task& task, int width, int used_devices) {
  Task used = task;
  used.devices = used_devices;
  std::optional<Plan> plan = plan_of_uniform_width(used, width);
  if (plan) plan->shards.resize(static_cast<std::size_t>(task.devices));
  return plan;
}

std::vector<Plan> uniform_width_plans(const Task& task) {
  std::vector<Plan> plans;
  for (const int used_devices : {task.devices, task.devices / 2}) {
    if (used_devices == 0) continue;
    for (int width = 4; width <= 256; width *= 2) {
      std::optional<Plan> plan = uniform_width_plan(task, width, used_devices);
      if (plan && std::find(plans.begin(), plans.end(), *plan) == plans.end()) {
        plans.push_back(std::move(*plan));
      }
    }
  }
  return plans;
}

void PlanAccuracy::add(const Backend& backend, const Task& task, const Plan& plan) {
  const double analytic_ms =
      analytic_plan_cost(gpu_named(machine_.gpu), network_named(machine_.network), task, plan)
          .cost_ms;
  ratios_.push_back(simulate(backend, task, plan).cost_ms / analytic_ms);
}

double PlanAccuracy::mape() const {
  double sum = 0.0;
  for (const double ratio : ratios_) sum += std::abs(ratio - 1.0);
  return sum / static_cast<double>(ratios_.size());
}

double PlanAccuracy::bias() const {
  return std::accumulate(ratios_.begin(), ratios_.end(), 0.0) /
             static_cast<double>(ratios_.size()) -
         1.0;
}

double PlanAccuracy::least_ratio() const {
  return *std::min_element(ratios_.begin(), ratios_.end());
}

double PlanAccuracy::largest_ratio() const {
  return *std::max_element(ratios_.begin(), ratios_.end());
}

}  // namespace neuroshard::bench
