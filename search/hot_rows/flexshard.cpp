#include "search/hot_rows/flexshard.h"

#include <cmath>
#include <cstddef>
#include <vector>

#include "core/plans/equal_blocks.h"
#include "core/tables/table_rules.h"
#include "neuroshard/simulator.h"

namespace neuroshard {

bool flexshard_cuts(const Task& task, const Table& table) {
  return table.pooling == Pooling::kNone && task.devices > 1 && table.rows >= task.devices &&
         may_be_sharded(task, table, ShardingKind::kRow);
}

std::pair<Plan, PlanCost> with_tiers(const Backend& backend, const Task& task,
                                     const PopularTables& tables, const Plan& plan) {
  std::vector<int> slices_of(task.tables.size(), 0);
  for (const TableSlice& slice : plan.slices) ++slices_of[static_cast<std::size_t>(slice.table)];
  constexpr int kMostLogLookups = 40;  // More lookups than any row has.
  for (int log = 0; log < kMostLogLookups; ++log) {
    Plan tiers;
    tiers.shards.resize(plan.shards.size());
    tiers.replicas = plan.replicas;
    const auto add = [&](const TableSlice& slice, std::size_t device) {
      tiers.shards[device].push_back(static_cast<int>(tiers.slices.size()));
      tiers.slices.push_back(slice);
    };
    for (std::size_t t = 0; t < task.tables.size(); ++t) {
      const Table& table = task.tables[t];
      const int index = static_cast<int>(t);
      if (slices_of[t] < 2) continue;
      const std::int64_t hot = tables.rows(index, std::exp2(log) * task.devices);
      if (hot > 0) tiers.hot_rows.push_back({index, hot});
      for_each_block({index, 0, table.dim, 0, table.rows - hot}, 0, task.devices,
                     [&](const TableSlice& block, int device) {
                       add(block, static_cast<std::size_t>(device));
                     });
    }
    if (tiers.hot_rows.empty()) break;
    for (std::size_t device = 0; device < plan.shards.size(); ++device) {
      for (const int index : plan.shards[device]) {
        const TableSlice& slice = plan.slices[static_cast<std::size_t>(index)];
        if (slices_of[static_cast<std::size_t>(slice.table)] < 2) add(slice, device);
      }
    }
    PlanCost cost = simulate(backend, task, tiers);
    if (cost.fits_memory) return {std::move(tiers), std::move(cost)};
  }
  return {plan, simulate(backend, task, plan)};
}

}  // namespace neuroshard
