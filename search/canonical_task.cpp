#include "search/canonical_task.h"

#include <algorithm>
#include <numeric>

#include "core/table_kind.h"

namespace neuroshard {

CanonicalTask::CanonicalTask(const Task& listed) : original(listed.tables.size()) {
  std::iota(original.begin(), original.end(), 0U);
  std::stable_sort(original.begin(), original.end(), [&](std::uint32_t a, std::uint32_t b) {
    return kind_of(listed.tables[a]) < kind_of(listed.tables[b]);
  });
  task.devices = listed.devices;
  task.devices_per_node = listed.devices_per_node;
  task.links = listed.links;
  task.memory_bytes = listed.memory_bytes;
  task.reserved = listed.reserved;
  task.device_list = listed.device_list;
  task.batch_size = listed.batch_size;
  task.tables.reserve(original.size());
  for (const std::uint32_t index : original) {
    task.tables.push_back(listed.tables[index]);
    task.tables.back().name.clear();
  }
}

}  // namespace neuroshard
