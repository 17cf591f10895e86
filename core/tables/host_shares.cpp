#include "core/tables/host_shares.h"

#include <algorithm>

namespace neuroshard {

std::int64_t even_host_bytes(const Task& task) {
  if (!task.host.of_node) return task.host.bytes;
  return task.host.bytes / std::min(task.devices_per_node, task.devices);
}

HostMemory host_of_device(const Task& task) {
  HostMemory host = task.host;
  host.bytes = pools_host_memory(task) ? kMaxTaskBytes : even_host_bytes(task);
  return host;
}

std::vector<std::int64_t> pooled_bytes(const Task& task, std::span<const std::int64_t> of_devices) {
  if (!pools_host_memory(task)) return {};
  std::vector<std::int64_t> nodes(
      static_cast<std::size_t>((task.devices - 1) / task.devices_per_node + 1));
  for (std::size_t d = 0; d < of_devices.size(); ++d) {
    nodes[d / static_cast<std::size_t>(task.devices_per_node)] += of_devices[d];
  }
  return nodes;
}

std::int64_t pools_missing_bytes(const Task& task, std::span<const std::int64_t> of_nodes) {
  std::int64_t missing = 0;
  for (const std::int64_t bytes : of_nodes) {
    missing += std::max<std::int64_t>(0, bytes - task.host.bytes);
  }
  return missing;
}

}  // namespace neuroshard
