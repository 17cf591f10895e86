#include "neuroshard/hardware.h"

#include <algorithm>
#include <string>
#include <vector>

#include "core/base/message_text.h"
#include "core/tables/node_link_fields.h"
#include "neuroshard/error.h"
#include "neuroshard/task.h"

namespace neuroshard {
namespace {

constexpr double kMib = 1048576.0;

// None of these lists is ever destroyed: the destructor of a static object may plan.

const std::vector<GpuSpec>& gpus() {
  static const auto& list = *new std::vector<GpuSpec>{
      {"v100-sxm2-32gb", 900.0, 6.0 * kMib, 80, 1.530},
      {"a100-sxm-80gb", 2039.0, 40.0 * kMib, 108, 1.410},
      {"h100-sxm-80gb", 3350.0, 50.0 * kMib, 132, 1.980},
      {"h200-sxm-141gb", 4800.0, 50.0 * kMib, 132, 1.980},
      {"b200-180gb", 8000.0, 126.0 * kMib, 148, 1.965},
      {"gb200-186gb", 8000.0, 126.0 * kMib, 152, 1.965},
      {"l40s-48gb", 864.0, 96.0 * kMib, 142, 2.520},
      {"a10-24gb", 600.0, 6.0 * kMib, 72, 1.695},
      {"t4-16gb", 320.0, 4.0 * kMib, 40, 1.590},
      {"mi300x-192gb", 5300.0, 256.0 * kMib, 304, 2.100},  // The Infinity Cache.
  };
  return list;
}

const std::vector<NetworkSpec>& networks() {
  static const auto& list = *new std::vector<NetworkSpec>{
      {"pcie4-edr", 8, {.in_node_gb_s = 31.5, .between_nodes_gb_s = 12.5}},
      {"v100-nvlink2-edr", 8, {.in_node_gb_s = 150.0, .between_nodes_gb_s = 12.5}},
      {"a100-nvlink3-hdr", 8, {.in_node_gb_s = 300.0, .between_nodes_gb_s = 25.0}},
      {"h100-nvlink4-ndr",  // H200 has the same links.
       8,
       {.in_node_gb_s = 450.0, .between_nodes_gb_s = 50.0}},
      {"b200-nvlink5-ndr", 8, {.in_node_gb_s = 900.0, .between_nodes_gb_s = 50.0}},
      {"gb200-nvl72-ndr", 72, {.in_node_gb_s = 900.0, .between_nodes_gb_s = 50.0}},
      {"mi300x-xgmi-ndr",
       8,
       {.in_node_gb_s = 448.0, .between_nodes_gb_s = 50.0, .peer_gb_s = 64.0}},
      {"pcie4-shared-400g",
       8,
       {.in_node_gb_s = 31.5, .between_nodes_gb_s = 31.5, .node_gb_s = 50.0, .host_gb_s = 144.0}},
      {"pcie4-shared-100g",
       8,
       {.in_node_gb_s = 31.5, .between_nodes_gb_s = 12.5, .node_gb_s = 12.5, .host_gb_s = 144.0}},
      {"pcie3-shared-100g",
       8,
       {.in_node_gb_s = 15.75, .between_nodes_gb_s = 12.5, .node_gb_s = 12.5, .host_gb_s = 72.0}},
  };
  return list;
}

template <typename Spec>
const Spec* find(std::span<const Spec> specs, std::string_view name) {
  const auto found = std::ranges::find(
      specs, name, [](const Spec& spec) -> std::string_view { return spec.name; });
  return found == specs.end() ? nullptr : &*found;
}

const std::vector<Hardware>& machines() {
  static const auto& list = *new std::vector<Hardware>([] {
    std::vector<Hardware> made;
    const auto add = [&](const char* name, std::string_view gpu, std::string_view network) {
      made.push_back({name, *find(known_gpus(), gpu), *find(known_networks(), network)});
    };
    add("a100", kDefaultGpu, kDefaultNetwork);
    add("h100", "h100-sxm-80gb", "h100-nvlink4-ndr");
    add("h200", "h200-sxm-141gb", "h100-nvlink4-ndr");
    add("b200", "b200-180gb", "b200-nvlink5-ndr");
    add("gb200", "gb200-186gb", "gb200-nvl72-ndr");
    add("mi300x", "mi300x-192gb", "mi300x-xgmi-ndr");
    add("l40s", "l40s-48gb", "pcie4-shared-400g");
    add("a10", "a10-24gb", "pcie4-shared-100g");
    add("t4", "t4-16gb", "pcie3-shared-100g");
    return made;
  }());
  return list;
}

// By a name of its own, or by that of a machine, whose `part` it is then.
template <typename Spec>
const Spec& part_named(std::string_view name, std::span<const Spec> specs, Spec Hardware::*part,
                       const char* kind) {
  if (const Hardware* machine = find(known_hardware(), name)) return machine->*part;
  if (const Spec* spec = find(specs, name)) return *spec;
  throw Error("no data for " + std::string(kind) + " '" + std::string(name) + "'; known are " +
              joined(specs, ", ", &Spec::name) + ", and those of " + known_hardware_names());
}

void require_number(const std::string& where, const std::string& field, double value, double low,
                    double high) {
  if (value >= low && value <= high) return;
  throw Error((where.empty() ? "" : where + ": ") + field + " is " + shortest_text(value) +
              "; give a number between " + shortest_text(low) + " and " + shortest_text(high));
}

}  // namespace

std::span<const GpuSpec> known_gpus() { return gpus(); }
std::span<const NetworkSpec> known_networks() { return networks(); }
std::span<const Hardware> known_hardware() { return machines(); }
std::string known_hardware_names() { return joined(known_hardware(), ", ", &Hardware::name); }

const GpuSpec& gpu_named(std::string_view name) {
  return part_named(name, known_gpus(), &Hardware::gpu, "GPU");
}
const NetworkSpec& network_named(std::string_view name) {
  return part_named(name, known_networks(), &Hardware::network, "network");
}
const Hardware& hardware_named(std::string_view name) {
  if (const Hardware* machine = find(known_hardware(), name)) return *machine;
  throw Error("no data for hardware '" + printable(name) + "'; use one of " +
              known_hardware_names() + ", or state a datasheet (docs/task_format.md)");
}

Hardware stated_hardware(const std::string& name, double memory_gb_s, double l2_mib,
                         int multiprocessors, double clock_ghz, const NodeNetwork& nodes,
                         const std::string& where) {
  Hardware hardware{name,
                    {name, memory_gb_s, kMib * l2_mib, multiprocessors, clock_ghz},
                    {"links of " + name, nodes.devices_per_node, nodes.links}};
  validate(hardware, where);
  return hardware;
}

void validate(const Hardware& hardware, const std::string& where) {
  const Hardware* known = find(known_hardware(), hardware.name);
  if (known != nullptr && *known != hardware) {
    throw Error((where.empty() ? "" : where + ": ") + "name is '" + hardware.name +
                "', of which there is a datasheet; give another name, or the name alone");
  }
  require_number(where, "memory_gb_s", hardware.gpu.hbm_gb_per_s, kLeastMemoryGbPerSecond,
                 kMostMemoryGbPerSecond);
  require_number(where, "l2_mib", hardware.gpu.l2_bytes / kMib, kLeastL2Mib, kMostL2Mib);
  require_number(where, "multiprocessors", hardware.gpu.multiprocessors, 1, kMostMultiprocessors);
  require_number(where, "clock_ghz", hardware.gpu.clock_ghz, kLeastClockGhz, kMostClockGhz);
  require_number(where, "devices_per_node", hardware.network.gpus_per_node, 1, kMaxDevices);
  if (!hardware.network.links.levels.empty()) {
    throw Error((where.empty() ? "" : where + ": ") +
                "levels of links are those of a task; state them there");
  }
  for (const NodeLinkField& field : kNodeLinkFields) {
    const double value = hardware.network.links.*field.gb_s;
    if (value == 0.0 && may_be_left_out(field)) continue;
    require_number(where, field.name, value, kLeastGbPerSecond, kMostGbPerSecond);
  }
}

}  // namespace neuroshard
