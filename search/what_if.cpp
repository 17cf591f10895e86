#include "neuroshard/what_if.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <tuple>

namespace neuroshard {
namespace {

/// Whether plans of `other` are plans of `variant`, too.
bool has_room_of(const TaskVariant& variant, const TaskVariant& other) {
  if (variant.devices != other.devices) return false;
  if (variant.memory_bytes < other.memory_bytes) return false;
  return variant.host_bytes == other.host_bytes ||
         (variant.host_bytes && other.host_bytes && *variant.host_bytes > *other.host_bytes);
}

/// Puts the plan of `other` in place of that of `outcome`, which is of `task`, if it is cheaper.
void take_if_cheaper(const Planner& planner, const Task& task, PlanOutcome& outcome,
                     const PlanOutcome& other) {
  if (!outcome || !other.has_plan()) return;
  if (outcome.has_plan() && outcome->cost.slowest_ms() <= other->cost.slowest_ms()) return;
  PlanResult result = std::move(outcome).value();
  result.plan = other->plan;
  result.cost = planner.simulate(task, *other->plan);  // Caches of rows may be larger than there.
  result.infeasible.reset();
  outcome = std::move(result);
}

}  // namespace

Task task_with(const Task& task, const TaskVariant& variant) {
  Task changed = task;
  if (variant.devices != task.devices) changed.device_list.clear();
  changed.devices = variant.devices;
  if (variant.memory_bytes != task.memory_bytes) set_memory(changed, variant.memory_bytes);
  if (variant.host_bytes) set_host_memory(changed, *variant.host_bytes);
  return changed;
}

std::vector<PlanOutcome> plan_variants(const Planner& planner, const Task& task,
                                       std::span<const TaskVariant> variants,
                                       const PlanRequest& request) {
  std::vector<Task> tasks;
  for (const TaskVariant& variant : variants) tasks.push_back(task_with(task, variant));
  std::vector<PlanOutcome> outcomes = planner.plan_batch(tasks, request);

  std::vector<std::size_t> order(variants.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) {
    return std::tuple(variants[i].devices, variants[i].memory_bytes, variants[i].host_bytes);
  });
  for (std::size_t i = 1; i < order.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (!has_room_of(variants[order[i]], variants[order[j]])) continue;
      take_if_cheaper(planner, tasks[order[i]], outcomes[order[i]], outcomes[order[j]]);
    }
  }
  return outcomes;
}

}  // namespace neuroshard
