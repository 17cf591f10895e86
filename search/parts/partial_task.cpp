#include "search/parts/partial_task.h"

#include <cstddef>

namespace neuroshard {

PartialTask task_without(const Task& whole, const std::vector<std::uint32_t>& taken,
                         std::int64_t bytes_of_device) {
  PartialTask part;
  auto next = taken.begin();
  for (std::uint32_t t = 0; t < whole.tables.size(); ++t) {
    if (next != taken.end() && *next == t) {
      ++next;
      continue;
    }
    part.tables.push_back(t);
    part.task.tables.push_back(whole.tables[t]);
  }
  part.task.devices = whole.devices;
  part.task.devices_per_node = whole.devices_per_node;
  part.task.links = whole.links;
  part.task.batch_size = whole.batch_size;
  part.task.memory_bytes = whole.memory_bytes;
  part.task.device_list = whole.device_list;
  part.task.reserved = whole.reserved;
  part.task.reserved.bytes += bytes_of_device;
  return part;
}

void add_part(Plan& plan, const PartialTask& part, const Plan& of_part) {
  const int first = static_cast<int>(plan.slices.size());
  for (TableSlice slice : of_part.slices) {
    const auto t = static_cast<std::size_t>(slice.table);
    slice.table = static_cast<int>(part.tables[t]);
    if (!part.first_columns.empty()) slice.first_column += part.first_columns[t];
    plan.slices.push_back(slice);
  }
  for (std::size_t d = 0; d < plan.shards.size(); ++d) {
    for (const int slice : of_part.shards[d]) plan.shards[d].push_back(first + slice);
  }
}

}  // namespace neuroshard
