#include "core/tables/host_shares.h"

#include <algorithm>

namespace neuroshard {

bool states_host(const Device& device) {
  return device.host_bytes != 0 || device.host_link_gb_s != 0.0 || device.ssd_bytes != 0 ||
         device.ssd_gb_s != 0.0;
}

HostMemory stated_host(const Task& task, std::size_t device) {
  HostMemory host = task.host;
  if (host.bytes == 0 || task.device_list.empty()) return host;
  const Device& listed = task.device_list[device];
  if (listed.host_bytes != 0) host.bytes = listed.host_bytes;
  if (listed.host_link_gb_s != 0.0) host.link_gb_s = listed.host_link_gb_s;
  if (listed.ssd_bytes != 0) host.ssd_bytes = listed.ssd_bytes;
  if (listed.ssd_gb_s != 0.0) host.ssd_gb_s = listed.ssd_gb_s;
  return host;
}

void set_host_memory(Task& task, std::int64_t host_bytes) {
  task.host.bytes = host_bytes;
  if (host_bytes == 0) task.host = {};
  for (Device& device : task.device_list) {
    device.host_bytes = 0;
    if (host_bytes > 0) continue;
    device.ssd_bytes = 0;
    device.host_link_gb_s = device.ssd_gb_s = 0.0;
  }
}

void share_host_memory(Task& task, int parts) {
  if (!task.host.of_node) return;
  task.host.bytes /= parts;
  for (Device& device : task.device_list) device.host_bytes /= parts;
}

std::int64_t even_host_bytes(const Task& task, std::size_t device) {
  const std::int64_t bytes = stated_host(task, device).bytes;
  return task.host.of_node ? bytes / std::min(task.devices_per_node, task.devices) : bytes;
}

HostMemory host_of_device(const Task& task, std::size_t device) {
  HostMemory host = stated_host(task, device);
  host.bytes = pools_host_memory(task) ? kMaxTaskBytes : even_host_bytes(task, device);
  return host;
}

HostLinks host_links(const Task& task) {
  HostLinks links;
  for (std::size_t d = 0; d < static_cast<std::size_t>(task.devices); ++d) {
    const double gb_s = stated_host(task, d).link_gb_s;
    const auto known = std::ranges::find(links.gb_s, gb_s);
    links.of_device.push_back(static_cast<std::uint32_t>(known - links.gb_s.begin()));
    if (known == links.gb_s.end()) links.gb_s.push_back(gb_s);
  }
  return links;
}

std::int64_t pool_bytes(const Task& task, std::size_t node) {
  return stated_host(task, node * static_cast<std::size_t>(task.devices_per_node)).bytes;
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
  for (std::size_t node = 0; node < of_nodes.size(); ++node) {
    missing += std::max<std::int64_t>(0, of_nodes[node] - pool_bytes(task, node));
  }
  return missing;
}

}  // namespace neuroshard
