#include "neuroshard/simulator.h"

#include <optional>
#include <utility>
#include <vector>

#include "core/base/count_up.h"
#include "core/plans/host_rows.h"
#include "core/plans/id_exchange.h"
#include "core/plans/in_node_traffic.h"
#include "core/plans/priced_plan.h"
#include "core/plans/replicas.h"
#include "core/plans/shards_cost.h"
#include "core/plans/slice_prices.h"
#include "core/plans/slice_tables.h"
#include "neuroshard/task_models.h"

namespace neuroshard {

PlanCost simulate(const Backend& backend, const Task& given, const Plan& given_plan) {
  validate(given);
  validate(given_plan, given);
  require_setting(backend, given);
  return cost_of(backend, PricedPlan(given, given_plan));
}

PlanCost cost_of(const Backend& backend, const PricedPlan& priced) {
  const Task& stated = priced.with_all_ids();
  const Plan& plan = priced.plan();
  const Task& task = priced.task();
  const OperatorFeatures of_operator(backend.table_features(),
                                     static_cast<double>(task.batch_size));
  std::vector<float> features;
  std::vector<std::int32_t> columns;
  std::vector<std::int32_t> table_ids;
  std::vector<SliceMemory> memory;
  std::vector<std::int64_t> lookups;
  std::vector<std::int64_t> slice_ids;
  std::vector<std::uint32_t> offsets{0};
  std::vector<std::optional<double>> prices_ms;
  SliceTables tables(task);
  const SlicePrices prices(backend, task, plan);
  HostedPlan hosted;
  if (task.host.bytes > 0) hosted = hosted_plan(task, plan);
  for (const std::vector<int>& shard : plan.shards) {
    for (const int index : shard) {
      const TableSlice& slice = plan.slices[static_cast<std::size_t>(index)];
      const Table table = tables.of(slice);
      of_operator.append(table, slice.dim, features);
      columns.push_back(output_columns(table, slice.dim));
      table_ids.push_back(slice.table);
      lookups.push_back(lookup_units(table.pooling_factor));
      slice_ids.push_back(id_units(table, task.exchange));
      memory.push_back(hosted.memory.empty() ? slice_memory(table, slice.dim)
                                             : hosted.memory[static_cast<std::size_t>(index)]);
      prices_ms.push_back(prices.ms_of(slice));
    }
    offsets.push_back(static_cast<std::uint32_t>(columns.size()));
  }
  std::vector<float> embeddings(columns.size() *
                                static_cast<std::size_t>(backend.embedding_width()));
  backend.embed_pieces(features, embeddings);
  const std::vector<std::uint32_t> ids = count_up<std::uint32_t>(columns.size());
  const InNodeTraffic in_node(task, plan, node_shares(backend.network(), task));
  PlanCost cost = cost_of_shards(backend, {.task = task,
                                           .embeddings = embeddings,
                                           .columns = columns,
                                           .memory = memory,
                                           .lookups = lookups,
                                           .ids = slice_ids,
                                           .prices_ms = prices_ms,
                                           .tables = table_ids,
                                           .hosted = hosted.devices,
                                           .in_node = in_node,
                                           .shards = {offsets, ids}});
  cost.hbm_shares = std::move(hosted.hbm_shares);
  cost.ssd_shares = std::move(hosted.ssd_shares);
  if (has_tables_on_every_device(plan)) {
    add_replicas(cost_of_replicas(backend, stated, task, plan), !plan.slices.empty(), task.overlap,
                 cost);
  }
  return cost;
}

}  // namespace neuroshard
