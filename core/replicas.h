#pragma once

#include <vector>

#include "neuroshard/backend.h"
#include "neuroshard/plan.h"
#include "neuroshard/task.h"

namespace neuroshard {

/// What replicated tables add to devices.
struct ReplicasCost {
  std::vector<double> operator_ms;  ///< [devices]
  double all_reduce_ms = 0.0;
  SliceMemory memory{};
};

/// Gradients of a replica of `table`, dense and in fp32, in bytes.
[[nodiscard]] inline double gradient_bytes(const Table& table) {
  return 4.0 * static_cast<double>(table.rows) * table.dim;
}
/// Of all replicas of `plan`.
[[nodiscard]] double gradient_bytes(const Task& task, const Plan& plan);

/// Samples that a device serves of replicated tables: its part of the batch.
[[nodiscard]] inline double samples_of_replicas(const Task& task) {
  return static_cast<double>(task.batch_size) / task.devices;
}

/// Predicted cost of the replicas of `plan`, which has some and is valid. Throws Error if the
/// models know no replicas.
[[nodiscard]] ReplicasCost cost_of_replicas(const Backend& backend, const Task& task,
                                            const Plan& plan);

/// Adds it to the cost of the slices, as if replicas' operators ran when all else is done. If there
/// are no slices, nothing but replicas and base loads costs anything: there is no operator and no
/// all-to-all.
void add_replicas(const ReplicasCost& replicas, bool any_slices, PlanCost& cost);

}  // namespace neuroshard
