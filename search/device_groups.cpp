#include "neuroshard/device_groups.h"

#include <algorithm>
#include <cstddef>

#include "core/base/message_text.h"
#include "core/models/link_rates.h"
#include "core/tables/table_rules.h"
#include "neuroshard/error.h"

namespace neuroshard {
namespace {

int devices_in_node(const Task& task) { return std::min(task.devices_per_node, task.devices); }

/// Where the devices of a group are, and those that it averages with.
struct Peers {
  int group_in_node;     ///< Devices of a group that share a node: each averages by a ring.
  int averaged_in_node;  ///< Devices that average with each other and share a node.
};

Peers peers_of(const Task& task, const DeviceGroups& groups) {
  const int in_node = devices_in_node(task);
  const int copies = task.devices / groups.size;
  const int averaged = groups.layout == GroupLayout::kConsecutive
                           ? std::max(1, in_node / groups.size)
                           : std::min(in_node, copies);
  return {.group_in_node = in_node / averaged, .averaged_in_node = averaged};
}

/// Device `device` of group `group`.
std::size_t device_of(const Task& task, const DeviceGroups& groups, int group, int device) {
  const int copies = task.devices / groups.size;
  return static_cast<std::size_t>(groups.layout == GroupLayout::kConsecutive
                                      ? group * groups.size + device
                                      : device * copies + group);
}

std::vector<Device> devices_of_group(const Task& task, const DeviceGroups& groups) {
  std::vector<Device> devices;
  if (task.device_list.empty()) return devices;
  for (int device = 0; device < groups.size; ++device) {
    devices.push_back(task.device_list[device_of(task, groups, 0, device)]);
    for (int group = 1; group < task.devices / groups.size; ++group) {
      const std::size_t other = device_of(task, groups, group, device);
      if (task.device_list[other] == devices.back()) continue;
      throw Error("groups of " + std::to_string(groups.size) + " devices, " +
                  std::string(name_of(groups.layout)) + ", differ: device " +
                  std::to_string(other) + " is not as device " +
                  std::to_string(device_of(task, groups, 0, device)) +
                  "; list devices so that all groups are alike, or give another size");
    }
  }
  return devices;
}

void require_groups(const Task& task, const DeviceGroups& groups) {
  const std::string size = std::to_string(groups.size);
  if (groups.size < 1 || task.devices % groups.size != 0) {
    throw Error("groups of " + size + " devices do not divide the " + std::to_string(task.devices) +
                " of the task; give a divisor of them");
  }
  const int node = devices_in_node(task);
  const int copies = task.devices / groups.size;
  const int in_node = groups.layout == GroupLayout::kConsecutive ? groups.size : copies;
  if (task.devices % node != 0 || (in_node % node != 0 && node % in_node != 0)) {
    throw Error("groups of " + size + " devices, " + std::string(name_of(groups.layout)) +
                ", do not fit nodes of " + std::to_string(node) +
                "; give a size of which nodes are multiples, or the other way round");
  }
  for (const Table& table : task.tables) {
    if (copies == 1 || !table.rules.limit_devices()) continue;
    throw Error("table '" + printable(table.name) +
                "' has rules that name devices, and each group has its own; leave them out");
  }
}

std::int64_t part_of(std::int64_t batch, int size, int devices) {
  return (batch * size + devices - 1) / devices;
}

/// Links of the task, or of `network` where it states none; the devices of a node share what they
/// have together in so many equal parts.
NodeLinks links_in_parts(const Task& task, const NodeNetwork& network, int parts) {
  NodeLinks links = network.links_with(task.links.value_or(NodeLinks{}));
  links.node_gb_s /= parts;
  links.host_gb_s /= parts;
  return links;
}

}  // namespace

Task task_of_group(const Task& task, const DeviceGroups& groups, const NodeNetwork& network) {
  validate(task);
  require_groups(task, groups);
  if (groups.size == task.devices) return task;
  Task group = task;
  group.devices = groups.size;
  group.device_list = devices_of_group(task, groups);
  group.batch_size = part_of(task.batch_size, groups.size, task.devices);
  for (Table& table : group.tables) {
    table.memory.batch_size = part_of(table.memory.batch_size, groups.size, task.devices);
  }
  const Peers peers = peers_of(task, groups);
  group.devices_per_node = peers.group_in_node;
  const NodeLinks links = links_in_parts(task, network, peers.averaged_in_node);
  // Where groups fill nodes, or lie within one that shares nothing, the models know them as they
  // are.
  const bool shares =
      peers.averaged_in_node > 1 && (links.node_gb_s > 0.0 || links.host_gb_s > 0.0);
  const bool scattered = peers.group_in_node < std::min(task.devices_per_node, groups.size);
  if (task.links || shares || scattered) group.links = links;
  return group;
}

AveragingTime averaging_time(const Task& task, const DeviceGroups& groups,
                             const NodeNetwork& network) {
  const int copies = task.devices / groups.size;
  if (copies == 1) return {};
  const Peers peers = peers_of(task, groups);
  const NodeLinks links = links_in_parts(task, network, peers.group_in_node);
  const FilledNodes nodes(copies, peers.averaged_in_node);
  constexpr double kMbOfGib = 1073.741824;
  return {.latency_ms = all_reduce_base_ms(nodes),
          .ms_per_gib = kMbOfGib * all_reduce_ms_per_mb(nodes, links)};
}

}  // namespace neuroshard
