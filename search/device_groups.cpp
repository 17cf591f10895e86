#include "neuroshard/device_groups.h"

#include <algorithm>
#include <cstddef>

#include "core/base/message_text.h"
#include "core/models/link_rates.h"
#include "core/tables/host_shares.h"
#include "core/tables/table_rules.h"
#include "neuroshard/error.h"

namespace neuroshard {
namespace {

int devices_in_node(const Task& task) { return std::min(task.devices_per_node, task.devices); }

/// Devices of a block, a node or one of a level, by what they have to do with each other.
struct Peers {
  int of_group;  ///< Devices of one group: each averages by a ring.
  int averaged;  ///< Devices that average with each other.
};

/// `block`: its devices, all of the task's at most.
Peers peers_in(int block, const Task& task, const DeviceGroups& groups) {
  const int copies = task.devices / groups.size;
  const int averaged = groups.layout == GroupLayout::kConsecutive ? std::max(1, block / groups.size)
                                                                  : std::min(block, copies);
  return {.of_group = block / averaged, .averaged = averaged};
}

/// Levels as so many devices see them of which `in_block` are in a block; those that hold them all
/// make no difference.
std::vector<LinkLevel> levels_of(const Task& task, const DeviceGroups& groups, int Peers::*in_block,
                                 int devices) {
  std::vector<LinkLevel> levels;
  if (!task.links) return levels;
  for (const LinkLevel& level : task.links->levels) {
    const int seen = peers_in(std::min(level.devices, task.devices), task, groups).*in_block;
    if (seen < devices) levels.push_back({seen, level.gb_s});
  }
  return levels;
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
      throw Error("groups of " + counted(static_cast<std::uint64_t>(groups.size), "device") + ", " +
                  std::string(name_of(groups.layout)) + ", differ: device " +
                  std::to_string(other) + " is not as device " +
                  std::to_string(device_of(task, groups, 0, device)) +
                  "; list devices so that all groups are alike, or give another size");
    }
  }
  return devices;
}

void require_groups(const Task& task, const DeviceGroups& groups) {
  const std::string of_size =
      "groups of " + std::to_string(groups.size) + (groups.size == 1 ? " device" : " devices");
  if (groups.size < 1 || task.devices % groups.size != 0) {
    throw Error(of_size + " do not divide the " + std::to_string(task.devices) +
                " of the task; give a divisor of them");
  }
  const int copies = task.devices / groups.size;
  const int side_by_side = groups.layout == GroupLayout::kConsecutive ? groups.size : copies;
  const auto require_blocks = [&](int block, const char* blocks) {
    if (copies == 1 || side_by_side % block == 0 || block % side_by_side == 0) return;
    throw Error(of_size + ", " + std::string(name_of(groups.layout)) + ", do not fit " + blocks +
                " of " + std::to_string(block) + "; give a size of which " + blocks +
                " are multiples, or the other way round");
  };
  require_blocks(devices_in_node(task), "nodes");
  for (const LinkLevel& level : task.links.value_or(NodeLinks{}).levels) {
    require_blocks(std::min(level.devices, task.devices), "blocks");
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
  const Peers peers = peers_in(devices_in_node(task), task, groups);
  group.devices_per_node = peers.of_group;
  share_host_memory(group, peers.averaged);
  NodeLinks links = links_in_parts(task, network, peers.averaged);
  links.levels = levels_of(task, groups, &Peers::of_group, groups.size);
  // Where groups fill nodes, or lie within one that shares nothing, the models know them as they
  // are.
  const bool shares = peers.averaged > 1 && (links.node_gb_s > 0.0 || links.host_gb_s > 0.0);
  const bool scattered = peers.of_group < std::min(task.devices_per_node, groups.size);
  if (task.links || shares || scattered) group.links = links;
  return group;
}

AveragingTime averaging_time(const Task& task, const DeviceGroups& groups,
                             const NodeNetwork& network) {
  const int copies = task.devices / groups.size;
  if (copies == 1) return {};
  const Peers peers = peers_in(devices_in_node(task), task, groups);
  NodeLinks links = links_in_parts(task, network, peers.of_group);
  links.levels = levels_of(task, groups, &Peers::averaged, copies);
  const FilledNodes nodes(copies, peers.averaged);
  constexpr double kMbOfGib = 1073.741824;
  return {.latency_ms = all_reduce_base_ms(nodes),
          .ms_per_gib = kMbOfGib * all_reduce_ms_per_mb(nodes, links)};
}

}  // namespace neuroshard
