#include <cmath>
#include <cstddef>

#include "core/plans/hot_rows.h"
#include "core/plans/replicas.h"
#include "core/plans/slice_tables.h"
#include "core/plans/touched_gradients.h"
#include "core/tables/row_popularity.h"
#include "neuroshard/plan_request.h"

namespace neuroshard {

std::int64_t StoragePrice::bytes_of(const Table& table, std::int64_t rows,
                                    const SliceMemory& memory) const {
  const std::int64_t stored = memory.weight_bytes + (optimizer_state ? memory.optimizer_bytes : 0);
  if (touched_in_samples == 0.0) return stored;
  const double share = touched_share(table, touched_in_samples);
  return std::llround(share * static_cast<double>(stored)) + rows;
}

std::vector<std::int64_t> stored_bytes(const StoragePrice& price, const Task& listed,
                                       const Plan& with_hot_rows) {
  const HotRowsSplit split(listed, with_hot_rows);
  const Task& task = split.task();
  const Plan& plan = split.plan();
  const TouchedGradients gradients(task);
  std::int64_t of_replicas = 0;
  for (const int t : plan.replicas) {
    const Table& table = task.tables[static_cast<std::size_t>(t)];
    of_replicas +=
        price.bytes_of(table, rows_of_replica(table), replica_memory(task, t, gradients));
  }
  std::vector<std::int64_t> bytes(plan.shards.size(), of_replicas);
  for (std::size_t device = 0; device < plan.shards.size(); ++device) {
    for (const int index : plan.shards[device]) {
      const TableSlice& slice = plan.slices[static_cast<std::size_t>(index)];
      const Table& table = task.tables[static_cast<std::size_t>(slice.table)];
      bytes[device] +=
          price.bytes_of(table, slice.rows, slice_memory(sized_table_of(task, slice), slice.dim));
    }
  }
  return bytes;
}

}  // namespace neuroshard
