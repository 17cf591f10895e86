#include "neuroshard/simulator.h"

#include <optional>
#include <utility>
#include <vector>

#include "core/base/count_up.h"
#include "core/plans/host_rows.h"
#include "core/plans/placed_pieces.h"
#include "core/plans/priced_plan.h"
#include "core/plans/replicas.h"
#include "neuroshard/task_models.h"

namespace neuroshard {

PlanCost simulate(const Backend& backend, const Task& given, const Plan& given_plan) {
  validate(given);
  validate(given_plan, given);
  require_setting(backend, given);
  return cost_of(backend, PricedPlan(given, given_plan));
}

PlanCost cost_of(const Backend& backend, const PricedPlan& priced) {
  const Plan& plan = priced.plan();
  const Task& task = priced.task();
  HostedPlan hosted;
  if (task.host.bytes > 0) hosted = hosted_plan(task, plan);
  PlacedPieces pieces(backend, task, plan);
  std::vector<std::uint32_t> offsets{0};
  for (const std::vector<int>& shard : plan.shards) {
    for (const int index : shard) {
      const auto i = static_cast<std::size_t>(index);
      pieces.add(plan.slices[i],
                 hosted.memory.empty() ? std::nullopt : std::optional(hosted.memory[i]));
    }
    offsets.push_back(offsets.back() + static_cast<std::uint32_t>(shard.size()));
  }
  pieces.embed();
  const std::vector<std::uint32_t> ids = count_up<std::uint32_t>(offsets.back());
  PlanCost cost = pieces.cost_of(task, hosted.devices, pieces.sums_of({offsets, ids}));
  cost.hbm_shares = std::move(hosted.hbm_shares);
  cost.ssd_shares = std::move(hosted.ssd_shares);
  if (has_tables_on_every_device(plan)) {
    add_replicas(cost_of_replicas(backend, priced.with_all_ids(), task, plan), !plan.slices.empty(),
                 task.overlap, cost);
  }
  return cost;
}

}  // namespace neuroshard
