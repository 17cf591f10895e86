#include "neuroshard/host_memory.h"

#include "core/base/enum_names.h"
#include "core/base/message_text.h"
#include "core/tables/host_memory_fields.h"
#include "neuroshard/node_links.h"
#include "neuroshard/task.h"

namespace neuroshard {

static constexpr std::string_view text_of(HostPolicy policy) {
  switch (policy) {
    case HostPolicy::kLru:
      return "lru";
    case HostPolicy::kStatic:
      return "static";
  }
  return "";
}

namespace {
constexpr auto kHostPolicies = all_named<HostPolicy>();
}  // namespace

std::span<const HostPolicy> all_host_policies() { return kHostPolicies; }

std::string_view name_of(HostPolicy policy) { return name_or_unknown(policy); }

HostPolicy host_policy_from_name(std::string_view name) {
  return named(all_host_policies(), name, "policy");
}

std::optional<std::string> host_memory_problem_of(const HostMemory& host) {
  const auto& [bytes, link_gb_s, policy, prefetch] = host;
  (void)prefetch;
  if (bytes == 0) return std::nullopt;
  if (bytes < 0 || bytes > kMaxTaskBytes) {
    return std::string(kHostGbField) + " is " + shortest_text(gib_from_bytes(bytes)) +
           "; give the GiB that the host has for each device";
  }
  if (!(link_gb_s >= kLeastGbPerSecond && link_gb_s <= kMostGbPerSecond)) {
    return std::string(kHostLinkField) + " is " + shortest_text(link_gb_s) +
           "; give the GB/s between a device and its host, 0.001 to 1e6";
  }
  if (name_of(policy) != "unknown") return std::nullopt;
  return std::string(kHostPolicyField) + " is none of the enumerators; give one";
}

std::string host_memory_text(const HostMemory& host) {
  if (host.bytes == 0) return {};
  return format_bytes(host.bytes) + " for each device at " + shortest_text(host.link_gb_s) +
         " GB/s, " + std::string(name_of(host.policy)) +
         (host.prefetch ? std::string(", ") + kHostPrefetchField : "");
}

}  // namespace neuroshard
