#include "search/plan_bytes.h"

#include "core/plans/replicas.h"

namespace neuroshard {

std::vector<std::int64_t> plan_bytes(const Task& task, const Plan& plan) {
  const std::int64_t of_replicas = replicas_memory(task, plan).total_bytes();
  std::vector<std::int64_t> bytes;
  for (const std::vector<TableSlice>& shard : slices_by_device(plan)) {
    std::int64_t& of_device = bytes.emplace_back(of_replicas);
    for (const TableSlice& slice : shard) of_device += slice_bytes(task, slice);
  }
  return bytes;
}

}  // namespace neuroshard
