#include "core/tables/rule_validation.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/enum_names.h"
#include "core/base/message_text.h"
#include "core/tables/host_memory_fields.h"
#include "core/tables/host_shares.h"
#include "core/tables/table_rules.h"

namespace neuroshard {
namespace {

using Problem = std::optional<std::string>;

Problem negative_number(int value, const char* rule) {
  if (value >= 0) return std::nullopt;
  return std::string("the rule ") + rule + " is " + std::to_string(value) +
         "; give a positive number, or leave it out";
}

Problem hbm_share_problem_of(const TableRules& rules, const Task& task) {
  const double share = rules.hbm_share;
  if (share == 0.0) return std::nullopt;
  if (!(share > 0.0 && share < 1.0)) {
    return "the rule hbm_share is " + shortest_text(share) +
           "; give a share of the rows, over 0 and below 1, or keep_in_hbm for all of them";
  }
  if (rules.keep_in_hbm) return "the rules hbm_share and keep_in_hbm contradict; leave out one";
  if (task.host.bytes > 0) return std::nullopt;
  return "the rule hbm_share lets rows wait in host memory, but the task states none; give "
         "host_memory, or leave out the rule";
}

/// Looks at what the task says of the host of this device alone.
Problem host_problem_of(const Task& task, std::size_t index) {
  const Device& device = task.device_list[index];
  if (!states_host(device)) return std::nullopt;
  if (task.host.bytes == 0) {
    return "its host memory is stated, but none of the task; give host_memory, which says what all "
           "devices have";
  }
  if ((device.ssd_bytes != 0 || device.ssd_gb_s != 0.0) && task.host.ssd_bytes == 0) {
    return "its SSD is stated, but none of the task; give ssd_gb and ssd_gb_s of host_memory, "
           "which say what all devices have";
  }
  HostMemory host = stated_host(task, index);
  host.of_node = false;
  Problem problem = host_memory_problem_of(host);
  if (!problem || problem->starts_with("ssd")) return problem;
  return "host_" + *problem;
}

/// `what`: "device" or "node", of which there are `count`.
Problem unknown(const std::vector<int>& named, const char* rule, const char* what, int count) {
  for (const int number : named) {
    if (number >= 0 && number < count) continue;
    return std::string("the rule ") + rule + " names " + what + " " + std::to_string(number) +
           (count == 1 ? ", but there is " : ", but there are ") +
           counted(static_cast<std::uint64_t>(count), what) + "; count from 0";
  }
  return std::nullopt;
}

Problem named_twice(const std::vector<int>& allowed, const std::vector<int>& forbidden,
                    const std::string& what) {
  const std::set<int> numbers(forbidden.begin(), forbidden.end());
  for (const int number : allowed) {
    if (!numbers.contains(number)) continue;
    std::string text = "the rules ";
    text.append(what).append("s and not_").append(what);
    text.append("s contradict each other: both name ").append(what).append(" ");
    return text.append(std::to_string(number)).append("; take it out of one");
  }
  return std::nullopt;
}

std::string no_device_left(const TableRules& rules, int devices) {
  std::vector<std::string> names;
  for (const auto& [name, set] :
       {std::pair("devices", &rules.devices), std::pair("not_devices", &rules.not_devices),
        std::pair("nodes", &rules.nodes), std::pair("not_nodes", &rules.not_nodes)}) {
    if (!set->empty()) names.emplace_back(name);
  }
  const std::string all = "all " + counted(static_cast<std::uint64_t>(devices), "device");
  if (names.size() == 1) {
    return "the rule " + names[0] + " names " + all + ", so that none is left; take one out";
  }
  return "the rules " + joined(names) + " together rule out " + all +
         ", so that none is left; change one of them";
}

bool may_be_sharded_at_all(const Task& task, const Table& table) {
  return std::ranges::any_of(all_sharding_kinds(),
                             [&](ShardingKind kind) { return may_be_sharded(task, table, kind); });
}

/// "the rules max_slices and kinds": the one beside kinds that alone leaves no way to shard
/// `table`.
std::string contradicting_rules(const Table& table, const Task& task) {
  const TableRules& rules = table.rules;
  const std::pair<const char*, TableRules> others[] = {
      {"no_split", {.no_split = rules.no_split, .kinds = rules.kinds}},
      {"max_slices", {.max_slices = rules.max_slices, .kinds = rules.kinds}},
      {"devices", {.devices = rules.devices, .kinds = rules.kinds}},
      {"not_devices", {.not_devices = rules.not_devices, .kinds = rules.kinds}},
      {"nodes", {.nodes = rules.nodes, .kinds = rules.kinds}},
      {"not_nodes", {.not_nodes = rules.not_nodes, .kinds = rules.kinds}}};
  Table with = table;
  for (const auto& [name, one] : others) {
    with.rules = one;
    if (!may_be_sharded_at_all(task, with)) return std::string("the rules ") + name + " and kinds";
  }
  return "the rules";
}

Problem kinds_problem_of(const Table& table, const Task& task) {
  const TableRules& rules = table.rules;
  if (rules.kinds.empty()) return std::nullopt;
  for (const ShardingKind kind : rules.kinds) {
    if (name_of(kind) == "unknown") {
      return "the rule kinds has a number that is none of the enumerators; give those";
    }
  }
  if (may_be_sharded_at_all(task, table)) return std::nullopt;
  Table with = table;
  with.rules = {.kinds = rules.kinds};
  if (!may_be_sharded_at_all(task, with)) {
    const bool parts = rules.allow(ShardingKind::kPartRow);
    return "the rule kinds allows only " + listed_names(rules.kinds) +
           ", for which a node must have " +
           (parts ? "three devices or more, and the table several rows" : "several devices") +
           ", but devices_per_node is " + std::to_string(task.devices_per_node) +
           (parts ? ", and rows " + std::to_string(table.rows) : "") + "; change one of them";
  }
  return contradicting_rules(table, task) +
         " contradict each other: they leave no way to shard the table on " +
         counted(static_cast<std::uint64_t>(task.devices), "device") + rules_text(rules) +
         "; loosen one of them";
}

}  // namespace

std::optional<std::string> device_list_problem_of(const Task& task) {
  const std::vector<Device>& list = task.device_list;
  if (list.empty()) return std::nullopt;
  if (list.size() != static_cast<std::size_t>(task.devices)) {
    return "devices is " + std::to_string(task.devices) + ", but " +
           counted(list.size(), "device") + (list.size() == 1 ? " is" : " are") +
           " listed; give as many";
  }
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Device& device = list[i];
    const std::string label = "device " + std::to_string(i) + ": ";
    if (device.memory_bytes < 1) {
      return label + "memory is " + std::to_string(device.memory_bytes) +
             " bytes; give a positive number";
    }
    if (!std::isfinite(device.base_ms) || device.base_ms < 0.0 || device.base_ms > kMostBaseMs) {
      return label + "base_ms is " + std::to_string(device.base_ms) +
             "; give a number between 0 and 1e6";
    }
    if (!(device.speed >= kLeastSpeed && device.speed <= kMostSpeed)) {
      return label + "speed is " + std::to_string(device.speed) +
             "; give a number between 0.01 and 100: how many times as fast as the models predict "
             "the device computes";
    }
    if (device.base_bytes < 0 || device.base_bytes > device.memory_bytes) {
      return label + "the base load takes " + std::to_string(device.base_bytes) +
             " bytes, but the device has " + std::to_string(device.memory_bytes) +
             "; give a number from 0 to that";
    }
    if (const Problem problem = host_problem_of(task, i)) return label + *problem;
  }
  if (task.host.bytes == 0) return std::nullopt;
  if (host_links(task).gb_s.size() > kMostHostLinks) {
    return "devices have more than " + std::to_string(kMostHostLinks) +
           " different host_link_gb_s; give those that are nearly alike the same";
  }
  if (!task.host.of_node) return std::nullopt;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::int64_t of_node =
        pool_bytes(task, i / static_cast<std::size_t>(task.devices_per_node));
    if (stated_host(task, i).bytes == of_node) continue;
    return "device " + std::to_string(i) + ": host_gb is " +
           shortest_text(gib_from_bytes(stated_host(task, i).bytes)) +
           ", but others of its node share " + shortest_text(gib_from_bytes(of_node)) +
           "; give all devices of a node the same";
  }
  return std::nullopt;
}

std::optional<std::string> rule_problem_of(const Table& table, const Task& task) {
  const TableRules& rules = table.rules;
  const int devices = task.devices;
  if (Problem problem = negative_number(rules.min_width, "min_width")) return problem;
  if (Problem problem = negative_number(rules.max_slices, "max_slices")) return problem;
  if (Problem problem = hbm_share_problem_of(rules, task)) return problem;
  if (!rules.limit_devices()) return kinds_problem_of(table, task);
  const int nodes = (devices + task.devices_per_node - 1) / task.devices_per_node;
  if (Problem problem = unknown(rules.devices, "devices", "device", devices)) return problem;
  if (Problem problem = unknown(rules.not_devices, "not_devices", "device", devices)) {
    return problem;
  }
  if (Problem problem = unknown(rules.nodes, "nodes", "node", nodes)) return problem;
  if (Problem problem = unknown(rules.not_nodes, "not_nodes", "node", nodes)) return problem;
  if (Problem problem = named_twice(rules.devices, rules.not_devices, "device")) return problem;
  if (Problem problem = named_twice(rules.nodes, rules.not_nodes, "node")) return problem;
  if (allowed_set(rules, task).empty()) return no_device_left(rules, devices);
  return kinds_problem_of(table, task);
}

}  // namespace neuroshard
