#pragma once

#include <cstdint>
#include <vector>

#include "core/plans/touched_gradients.h"
#include "neuroshard/backend.h"
#include "neuroshard/plan.h"
#include "neuroshard/task.h"

namespace neuroshard {

/// Costs that replicated tables, and tables whose rows come back once, add to devices.
struct ReplicasCost {
  std::vector<double> operator_ms;  ///< [devices]
  double all_reduce_ms = 0.0;
  SliceMemory memory{};
};

/// Gradients that devices exchange for all replicas of a plan.
struct ReplicaTraffic {
  double dense_bytes = 0.0;
  ReplicaUpdate update{};
};
/// `between_share`: NodeShares::all_reduce_between.
[[nodiscard]] ReplicaTraffic replica_traffic(const Task& task, const Plan& plan,
                                             double between_share = 1.0);

/// Rows of a replica of `table` that a device holds.
[[nodiscard]] inline std::int64_t rows_of_replica(const Table& table) {
  return (table.rows + table.replica_devices - 1) / table.replica_devices;
}

/// replica_memory() with what the tables of a task share computed once.
[[nodiscard]] SliceMemory replica_memory(const Task& task, int table,
                                         const TouchedGradients& touched);

/// Tables that each device looks up for its own part of the batch, in the order of their kinds:
/// replicas of `task`, and what `stated` has of those that are deduplicated. It finds the rows of
/// these, and pools what comes back, by the operator that it would have of a replica.
[[nodiscard]] std::vector<const Table*> tables_on_every_device(const Task& stated, const Task& task,
                                                               const Plan& plan);

/// Whether there are any.
[[nodiscard]] inline bool has_tables_on_every_device(const Plan& plan) {
  return !plan.replicas.empty() || !plan.deduplicated.empty();
}

/// A replica's operator computes with this, for samples_of_replicas(): it makes gradients, and what
/// the optimizer keeps is read and written where they are added up. A device of a replica that is
/// spread has its part of the rows, and the lookups that its node's part of the batch has in these:
/// as many as its own part has in all of them.
[[nodiscard]] Table in_replica_operator(Table table);

/// Samples that a device serves of replicated tables: its part of the batch.
[[nodiscard]] inline double samples_of_replicas(const Task& task) {
  return static_cast<double>(task.batch_size) / task.devices;
}

/// Price of a replica of `table` on each device, beside its gradients.
[[nodiscard]] double replica_price_ms(const KindPrice& price, const Task& task, const Table& table);

/// Whether `backend` can price deduplicated tables: it sees that they are not pooled, and what
/// devices do with what comes back.
[[nodiscard]] inline bool prices_deduplication(const Backend& backend) {
  return backend.prices_replicas() && backend.follows_weight_types();
}

/// Predicted cost of tables_on_every_device(), of which a valid plan has some. Throws Error if the
/// models know no replicas, or have prices of kinds of sharding, which know nothing of
/// deduplicated tables.
[[nodiscard]] ReplicasCost cost_of_replicas(const Backend& backend, const Task& stated,
                                            const Task& task, const Plan& plan);

/// Adds it to the cost of the slices, as if these operators ran when all else is done. If there are
/// no slices, nothing but replicas and base loads costs anything: there is no operator and no
/// all-to-all.
void add_replicas(const ReplicasCost& replicas, bool any_slices, const Overlap& overlap,
                  PlanCost& cost);

}  // namespace neuroshard
