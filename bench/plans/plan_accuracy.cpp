#include "bench/plans/plan_accuracy.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "bench/statistics.h"
#include "neuroshard/simulator.h"
#include "search/baselines.h"
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
  const PlanCost analytic = analytic_plan_cost(machine_.gpu, machine_.network, task, plan);
  const PlanCost predicted = simulate(backend, task, plan);
  ratios_.push_back(predicted.cost_ms / analytic.cost_ms);
  analytic_ms_.push_back(analytic.cost_ms);
  const auto slowest = std::ranges::max_element(analytic.devices, {}, &DeviceCost::total_ms);
  const DeviceCost& truth = *slowest;
  const DeviceCost& guess =
      predicted.devices[static_cast<std::size_t>(slowest - analytic.devices.begin())];
  const auto error = [&](double guessed_ms, double true_ms) {
    return (guessed_ms - true_ms) / analytic.cost_ms;
  };
  // `compute_ms` has the replicas' operator in it.
  term_errors_.push_back(
      {.compute = error(guess.compute_ms - guess.replicas_ms, truth.compute_ms - truth.replicas_ms),
       .forward = error(guess.forward_ms, truth.forward_ms),
       .backward = error(guess.backward_ms, truth.backward_ms),
       .ids = error(guess.ids_ms, truth.ids_ms),
       .replicas = error(guess.replicas_ms + guess.all_reduce_ms,
                         truth.replicas_ms + truth.all_reduce_ms)});
}

double PlanAccuracy::mean_analytic_ms() const { return geometric_mean(analytic_ms_); }

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

double PlanAccuracy::median_ratio() const { return median(ratios_); }

double PlanAccuracy::ratio_at(double percent) const { return percentile(ratios_, percent); }

PlanAccuracy::TermErrors PlanAccuracy::term_errors() const {
  TermErrors mean;
  const auto plans = static_cast<double>(term_errors_.size());
  for (const TermErrors& errors : term_errors_) {
    mean.compute += errors.compute / plans;
    mean.forward += errors.forward / plans;
    mean.backward += errors.backward / plans;
    mean.ids += errors.ids / plans;
    mean.replicas += errors.replicas / plans;
  }
  return mean;
}

double PlanAccuracy::largest_ratio() const {
  return *std::max_element(ratios_.begin(), ratios_.end());
}

}  // namespace neuroshard::bench
