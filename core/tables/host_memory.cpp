#include "neuroshard/host_memory.h"

#include <algorithm>

#include "core/base/enum_names.h"
#include "core/base/message_text.h"
#include "core/tables/host_memory_fields.h"
#include "core/tables/host_shares.h"
#include "neuroshard/node_links.h"
#include "neuroshard/task.h"

namespace neuroshard {

std::optional<std::string> host_memory_problem_of(const HostMemory& host) {
  const auto& [bytes, link_gb_s, policy, prefetch, of_node, ssd_bytes, ssd_gb_s] = host;
  (void)prefetch;
  if (bytes == 0 && ssd_bytes != 0) {
    return std::string(kSsdGbField) +
           " needs host memory, through which rows come; give both, or neither";
  }
  if (bytes == 0) return std::nullopt;
  if (bytes < 0 || bytes > kMaxTaskBytes) {
    return std::string(of_node ? kHostNodeGbField : kHostGbField) + " is " +
           shortest_text(gib_from_bytes(bytes)) + "; give the GiB that the host has for each " +
           (of_node ? "node" : "device");
  }
  if (!(link_gb_s >= kLeastGbPerSecond && link_gb_s <= kMostGbPerSecond)) {
    return std::string(kHostLinkField) + " is " + shortest_text(link_gb_s) +
           "; give the GB/s between a device and its host, 0.001 to 1e6";
  }
  if (ssd_bytes < 0 || ssd_bytes > kMaxTaskBytes) {
    return std::string(kSsdGbField) + " is " + shortest_text(gib_from_bytes(ssd_bytes)) +
           "; give the GiB of an SSD for each device";
  }
  if (ssd_bytes > 0 && !(ssd_gb_s >= kLeastGbPerSecond && ssd_gb_s <= kMostGbPerSecond)) {
    return std::string(kSsdRateField) + " is " + shortest_text(ssd_gb_s) +
           "; give the GB/s of a device's reads and writes of its SSD, 0.001 to 1e6";
  }
  if (name_of(policy) != "unknown") return std::nullopt;
  return std::string(kHostPolicyField) + " is none of the enumerators; give one";
}

std::string host_memory_text(const HostMemory& host, std::span<const Device> listed) {
  if (host.bytes == 0) return {};
  std::string text = format_bytes(host.bytes) + " for each " + (host.of_node ? "node" : "device") +
                     " at " + shortest_text(host.link_gb_s) + " GB/s, " +
                     std::string(name_of(host.policy));
  if (host.prefetch) text.append(", ").append(kHostPrefetchField);
  if (host.ssd_bytes > 0) {
    text += ", " + format_bytes(host.ssd_bytes) + " of SSD at " + shortest_text(host.ssd_gb_s) +
            " GB/s";
  }
  const auto others = std::ranges::count_if(listed, states_host);
  if (others == 0) return text;
  const auto count = static_cast<std::uint64_t>(others);
  return text + "; " + counted(count, "device") + (count == 1 ? " has" : " have") +
         " other figures";
}

}  // namespace neuroshard
