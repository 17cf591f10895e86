#include "core/plans/replicas.h"

#include <algorithm>
#include <utility>

#include "core/base/count_up.h"
#include "core/plans/in_node_traffic.h"
#include "core/plans/iteration.h"
#include "core/plans/slice_prices.h"
#include "core/tables/table_kind.h"
#include "neuroshard/error.h"
#include "neuroshard/histogram_scale.h"
#include "neuroshard/table_features.h"
#include "neuroshard/task_models.h"

namespace neuroshard {
namespace {

/// By the compute model: one operator on a device's part of the batch.
double predicted_replicas_ms(const Backend& backend, const Task& task,
                             const std::vector<const Table*>& tables) {
  const OperatorFeatures of_operator(backend.table_features(), samples_of_replicas(task));
  std::vector<float> features;
  for (const Table* table : tables) {
    of_operator.append(in_replica_operator(*table), table->dim, features);
  }
  const auto width = static_cast<std::size_t>(backend.embedding_width());
  std::vector<float> embeddings(tables.size() * width);
  backend.embed_pieces(features, embeddings);
  const std::vector<std::uint32_t> ids = count_up<std::uint32_t>(tables.size());
  const std::vector<std::uint32_t> offsets{0, static_cast<std::uint32_t>(ids.size())};
  float operator_ms = 0.0F;
  backend.score_shards(embeddings, {offsets, ids}, {&operator_ms, 1});
  return operator_ms;
}

/// Sums do not depend on the order in which the task lists its tables.
void sort_by_kind(std::vector<const Table*>& tables) {
  std::ranges::stable_sort(
      tables, [](const Table* a, const Table* b) { return kind_of(*a) < kind_of(*b); });
}

}  // namespace

double replica_price_ms(const KindPrice& price, const Task& task, const Table& table) {
  return priced_ms(price, table, table.dim, 1.0, samples_of_replicas(task));
}

Table in_replica_operator(Table table) {
  table.memory.optimizer = Optimizer::kSgd;
  const double parts = table.replica_devices;
  if (parts == 1.0) return table;
  // Deduplicated lookups have that of the node's part of the batch already.
  if (table.once_in_samples == 0.0) {
    table.access_histogram = HistogramScale(parts * static_cast<double>(kDefaultBatchSize))(table);
  }
  table.rows = rows_of_replica(table);
  // Each part of the rows has a sum for each sample of the node.
  table.features *= parts;
  table.once_in_samples /= parts;
  table.popularity.clear();
  table.replica_devices = 1;
  return table;
}

ReplicaTraffic replica_traffic(const Task& task, const Plan& plan, double between_share) {
  ReplicaTraffic traffic;
  const TouchedGradients gradients(task, between_share);
  std::vector<const Table*> tables;
  for (const int index : plan.replicas) {
    tables.push_back(&task.tables[static_cast<std::size_t>(index)]);
    traffic.dense_bytes += gradients.dense_bytes(*tables.back());
  }
  sort_by_kind(tables);
  traffic.update = gradients.update(tables);
  return traffic;
}

std::vector<const Table*> tables_on_every_device(const Task& stated, const Task& task,
                                                 const Plan& plan) {
  std::vector<const Table*> tables;
  for (const int index : plan.replicas) {
    tables.push_back(&task.tables[static_cast<std::size_t>(index)]);
  }
  for (const int index : plan.deduplicated) {
    tables.push_back(&stated.tables[static_cast<std::size_t>(index)]);
  }
  sort_by_kind(tables);
  return tables;
}

ReplicasCost cost_of_replicas(const Backend& backend, const Task& stated, const Task& task,
                              const Plan& plan) {
  require_replicas(backend);
  if (!plan.deduplicated.empty() && !prices_deduplication(backend)) {
    throw Error(
        "the plan deduplicates tables, and the cost models have prices of kinds of sharding or see "
        "no pooling; plan without deduplicate_by_table of exchange, or with other models");
  }
  const std::vector<const Table*> tables = tables_on_every_device(stated, task, plan);
  double operator_ms = 0.0;
  if (const KindPrice* price = backend.kind_price(ShardingKind::kReplicate)) {
    for (const Table* table : tables) operator_ms += replica_price_ms(*price, task, *table);
  } else {
    operator_ms = predicted_replicas_ms(backend, task, tables);
  }
  std::vector<double> of_device(static_cast<std::size_t>(task.devices), operator_ms);
  for (std::size_t d = 0; d < task.device_list.size(); ++d) {
    of_device[d] /= task.device_list[d].speed;
  }
  if (plan.replicas.empty()) return {.operator_ms = std::move(of_device)};
  const ReplicaTraffic traffic =
      replica_traffic(task, plan, node_shares(backend.network(), task).all_reduce_between);
  const CollectiveModel& all_reduce = *backend.all_reduce();
  return {.operator_ms = std::move(of_device),
          .all_reduce_ms = all_reduce.cost_ms(task.devices, traffic.dense_bytes) +
                           replica_update_ms(all_reduce, task.devices, traffic.update),
          .memory = replicas_memory(task, plan)};
}

void add_replicas(const ReplicasCost& replicas, bool any_slices, const Overlap& overlap,
                  PlanCost& cost) {
  cost.fits_memory = true;
  for (std::size_t d = 0; d < cost.devices.size(); ++d) {
    DeviceCost& device = cost.devices[d];
    if (!any_slices) {
      device.compute_ms = device.base_ms;
      device.forward_ms = 0.0;
      device.backward_ms = 0.0;
      device.ids_ms = 0.0;
    }
    device.replicas_ms = replicas.operator_ms[d];
    device.compute_ms += device.replicas_ms;
    device.all_reduce_ms = replicas.all_reduce_ms;
    device.memory += replicas.memory;
    device.memory_bytes += replicas.memory.total_bytes();
    device.free_bytes -= replicas.memory.total_bytes();
    cost.fits_memory &= device.free_bytes >= 0;
  }
  set_iterations(overlap, cost);
}

}  // namespace neuroshard
