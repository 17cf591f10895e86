#include "tools/options/host_memory_option.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/base/message_text.h"
#include "core/base/number_in.h"
#include "core/tables/host_memory_fields.h"
#include "neuroshard/error.h"
#include "tools/options/stated_fields.h"

namespace neuroshard::tools {
namespace {

constexpr FieldsOption kHostMemoryOption{
    "--host-memory",
    "Host memory for rows that HBM has no room for, in place of the task file's: gb for each "
    "device or node_gb for each node (several in what-ifs), link_gb_s, policy (lru, static), "
    "prefetch; ssd_gb and ssd_gb_s of a device's SSD, e.g. gb=300,link_gb_s=25",
    "FIELD=VALUE,..."};

double host_number(std::string_view name, std::string_view text) {
  if (const std::optional<double> number = number_in<double>(text)) return *number;
  throw Error(std::string(name) + " is '" + printable(text) + "', no number; give e.g. " +
              std::string(name) + "=25");
}

bool is_size(std::string_view name) { return name == kHostGbField || name == kHostNodeGbField; }

std::int64_t host_bytes(std::string_view name, std::string_view text) {
  const double gib = host_number(name, text);
  return gib == 0.0 ? 0 : bytes_from_gib(gib);
}

/// Listed devices are then no exceptions.
void set_host_field(std::string_view name, std::optional<std::string_view> value, Task& task) {
  const std::string_view text = value.value_or("");
  HostMemory& host = task.host;
  for (Device& device : task.device_list) {
    if (name == kHostLinkField) device.host_link_gb_s = 0.0;
    if (name == kSsdGbField) device.ssd_bytes = 0;
    if (name == kSsdRateField) device.ssd_gb_s = 0.0;
  }
  if (is_size(name)) {
    host.of_node = name == kHostNodeGbField;
  } else if (name == kSsdGbField) {
    host.ssd_bytes = host_bytes(name, text);
  } else if (name == kSsdRateField) {
    host.ssd_gb_s = host_number(name, text);
  } else if (name == kHostLinkField) {
    host.link_gb_s = host_number(name, text);
  } else if (name == kHostPolicyField) {
    host.policy = host_policy_from_name(text);
  } else if (name == kHostPrefetchField) {
    host.prefetch = flag_of(name, value);
  } else {
    reject_field(name, std::string(kHostGbField) + ", " + kHostNodeGbField + ", " + kHostLinkField +
                           ", " + kHostPolicyField + ", " + kHostPrefetchField + ", " +
                           kSsdGbField + ", " + kSsdRateField);
  }
}

}  // namespace

void add_host_memory_option(const command_line::OptionGroup& group,
                            std::vector<std::string>& stated) {
  add_fields_option(group, kHostMemoryOption, stated);
}

std::vector<std::int64_t> host_sizes(const std::vector<std::string>& stated) {
  std::vector<std::int64_t> sizes;
  std::string_view first;
  bool differ = false;
  apply_fields(
      kHostMemoryOption, stated,
      [&](std::string_view name, std::optional<std::string_view> value) {
        if (!is_size(name)) return;
        if (first.empty()) first = name;
        differ = differ || name != first;
        sizes.push_back(host_bytes(name, value.value_or("")));
      },
      [&] {
        return differ ? std::optional(std::string(kHostGbField) + " is of each device and " +
                                      kHostNodeGbField + " of each node; give one of them")
                      : std::nullopt;
      });
  return sizes;
}

void apply_host_memory(const std::vector<std::string>& stated, Task& task) {
  if (stated.empty()) return;
  const std::vector<std::int64_t> sizes = host_sizes(stated);
  if (!sizes.empty()) task.host.bytes = std::ranges::max(sizes);
  apply_fields(
      kHostMemoryOption, stated,
      [&](std::string_view name, std::optional<std::string_view> value) {
        set_host_field(name, value, task);
      },
      [&] { return host_memory_problem_of(task.host); });
  if (!sizes.empty() || task.host.bytes == 0) set_host_memory(task, task.host.bytes);
  if (task.host.ssd_bytes > 0) return;
  for (Device& device : task.device_list) {
    device.ssd_bytes = 0;
    device.ssd_gb_s = 0.0;
  }
}

}  // namespace neuroshard::tools
