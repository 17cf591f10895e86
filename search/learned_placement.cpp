#include "search/learned_placement.h"

#include "core/base/step_budget.h"
#include "core/tables/table_rules.h"
#include "search/apart_devices.h"

namespace neuroshard {
namespace {

// A logit takes some microseconds.
constexpr std::uint64_t kStepsOfLogit = 2048;

}  // namespace

std::optional<Plan> place_by_policy(const PackedPolicy& policy, const Task& task,
                                    const StopCondition& stop) {
  if (!task.groups.empty()) {
    return plan_without_groups(
        task, stop, [&](const Task& starts) { return place_by_policy(policy, starts, stop); });
  }
  const auto devices = static_cast<std::size_t>(task.devices);
  StepBudget budget(StepBudget::kAnySteps, stop);
  const std::unique_ptr<PolicyRun> run = policy.start(task.tables, devices);
  Plan plan;
  plan.slices = whole_tables(task);
  plan.shards.resize(devices);
  std::vector<std::int64_t> left = even_rooms_bytes(task);
  for (const std::size_t t : run->order()) {
    if (!budget.take(devices * kStepsOfLogit)) return std::nullopt;
    const std::int64_t size = task.tables[t].size_bytes();
    const DeviceSet allowed = allowed_set(task.tables[t].rules, task);
    const std::span<const float> logits = run->logits();
    std::optional<std::size_t> best;
    for (std::size_t d = 0; d < devices; ++d) {
      if (left[d] < size || !allowed.contains(d)) continue;
      if (!best || logits[d] > logits[*best]) best = d;
    }
    if (!best) return std::nullopt;
    run->place(*best);
    plan.shards[*best].push_back(static_cast<int>(t));
    left[*best] -= size;
  }
  return plan;
}

}  // namespace neuroshard
