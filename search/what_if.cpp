#include "neuroshard/what_if.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/base/count_up.h"
#include "core/tables/host_shares.h"

namespace neuroshard {
namespace {

/// [devices]: memory of each, and of its host.
using DeviceMemory = std::vector<std::pair<std::int64_t, std::int64_t>>;

DeviceMemory device_memory(const Task& task) {
  DeviceMemory memory;
  for (std::size_t d = 0; std::cmp_less(d, task.devices); ++d) {
    memory.emplace_back(memory_bytes(task, d), stated_host(task, d).bytes);
  }
  return memory;
}

/// Whether plans for devices of `other` are plans for those of `memory`, too.
bool has_room_of(const DeviceMemory& memory, const DeviceMemory& other) {
  const auto holds = [](const auto& one, const auto& another) {
    return one.first >= another.first && one.second >= another.second;
  };
  return std::ranges::equal(memory, other, holds);
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
  if (variant.memory_bytes) set_memory(changed, *variant.memory_bytes);
  if (variant.host_bytes) set_host_memory(changed, *variant.host_bytes);
  return changed;
}

std::vector<PlanOutcome> plan_variants(const Planner& planner, const Task& task,
                                       std::span<const TaskVariant> variants,
                                       const PlanRequest& request) {
  std::vector<Task> tasks;
  for (const TaskVariant& variant : variants) tasks.push_back(task_with(task, variant));
  std::vector<PlanOutcome> outcomes = planner.plan_batch(tasks, request);

  std::vector<DeviceMemory> memory(variants.size());
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (outcomes[i]) memory[i] = device_memory(tasks[i]);  // Else it may list other devices.
  }
  std::vector<std::size_t> order = count_up<std::size_t>(variants.size());
  std::ranges::stable_sort(order, {},
                           [&](std::size_t i) -> const DeviceMemory& { return memory[i]; });
  for (std::size_t i = 1; i < order.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (!has_room_of(memory[order[i]], memory[order[j]])) continue;
      take_if_cheaper(planner, tasks[order[i]], outcomes[order[i]], outcomes[order[j]]);
    }
  }
  return outcomes;
}

}  // namespace neuroshard
