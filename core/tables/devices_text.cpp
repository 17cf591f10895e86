#include "core/tables/devices_text.h"

#include <algorithm>
#include <cstdint>

#include "core/base/message_text.h"
#include "core/tables/node_link_fields.h"

namespace neuroshard {

std::string devices_text(const Task& task) {
  std::string text = counted(static_cast<std::uint64_t>(task.devices), "device") + " of ";
  if (task.device_list.empty()) return text + format_bytes(task.memory_bytes);
  const auto [least, most] = std::ranges::minmax(task.device_list, {}, &Device::memory_bytes);
  text += format_bytes(least.memory_bytes);
  if (least.memory_bytes < most.memory_bytes) text += " to " + format_bytes(most.memory_bytes);
  const auto [slowest, fastest] = std::ranges::minmax(task.device_list, {}, &Device::speed);
  if (slowest.speed == 1.0 && fastest.speed == 1.0) return text;
  if (slowest.speed == fastest.speed) {
    return text + " and of speed " + format_number(slowest.speed, 2);
  }
  return text + " and of speeds " + format_number(slowest.speed, 2) + " to " +
         format_number(fastest.speed, 2);
}

std::string nodes_text(int devices_per_node, const std::optional<NodeLinks>& links) {
  if (devices_per_node == kDefaultDevicesPerNode && !links) return "";
  std::string text = "of " + counted(static_cast<std::uint64_t>(devices_per_node), "device");
  if (!links) return text;
  std::string stated;
  for (const auto& [name, gb_s] : kNodeLinkFields) {
    if ((*links).*gb_s == 0.0) continue;
    stated.append(stated.empty() ? "" : ", ").append(name).append(" ");
    stated += shortest_text((*links).*gb_s);
  }
  for (const LinkLevel& level : links->levels) {
    stated.append(stated.empty() ? "" : ", ").append(shortest_text(level.gb_s)).append(" beyond ");
    stated += counted(static_cast<std::uint64_t>(level.devices), "device");
  }
  return text + ", with links" + (stated.empty() ? " as the weights know them" : ": " + stated);
}

}  // namespace neuroshard
