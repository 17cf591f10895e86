#include "search/hot_rows/flexshard.h"

#include <cmath>
#include <cstddef>
#include <vector>

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
    std::vector<HotRows> hot_rows;
    for (std::size_t t = 0; t < task.tables.size(); ++t) {
      const int table = static_cast<int>(t);
      if (slices_of[t] < 2) continue;
      HotRows hot{table, tables.rows(table, std::exp2(log) * task.devices)};
      if (task.exchange.hot_rows_by_node && fills_nodes(task)) {
        const int nodes = task.devices / task.devices_per_node;
        hot.node_rows = tables.rows(table, std::exp2(log) * nodes) - hot.rows;
      }
      if (hot.all() > 0) hot_rows.push_back(hot);
    }
    if (hot_rows.empty()) break;
    Plan tiers = with_other_hot_rows(task, plan, hot_rows);
    PlanCost cost = simulate(backend, task, tiers);
    if (cost.fits_memory) return {std::move(tiers), std::move(cost)};
  }
  return {plan, simulate(backend, task, plan)};
}

}  // namespace neuroshard
