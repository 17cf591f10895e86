#include <cstddef>

#include "core/plans/slice_tables.h"
#include "neuroshard/plan_request.h"

namespace neuroshard {

std::vector<std::int64_t> stored_bytes(const StoragePrice& price, const Task& task,
                                       const Plan& plan) {
  const auto bytes_of = [&](const SliceMemory& memory) {
    return price.bytes_of(memory.weight_bytes, memory.optimizer_bytes);
  };
  std::vector<std::int64_t> bytes(plan.shards.size(), bytes_of(replicas_memory(task, plan)));
  for (std::size_t device = 0; device < plan.shards.size(); ++device) {
    for (const int index : plan.shards[device]) {
      const TableSlice& slice = plan.slices[static_cast<std::size_t>(index)];
      bytes[device] += bytes_of(slice_memory(sized_table_of(task, slice), slice.dim));
    }
  }
  return bytes;
}

}  // namespace neuroshard
