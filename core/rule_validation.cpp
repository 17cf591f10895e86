#include "core/rule_validation.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include "core/message_text.h"
#include "neuroshard/error.h"

namespace neuroshard {
namespace {

using Problem = std::optional<std::string>;

Problem negative_number(int value, const char* rule) {
  if (value >= 0) return std::nullopt;
  return std::string("the rule ") + rule + " is " + std::to_string(value) +
         "; give a positive number, or leave it out";
}

Problem unknown_device(const std::vector<int>& named, const char* rule, int devices) {
  for (const int device : named) {
    if (device >= 0 && device < devices) continue;
    return std::string("the rule ") + rule + " names device " + std::to_string(device) +
           ", but there are " + counted(static_cast<std::uint64_t>(devices), "device") +
           "; count from 0";
  }
  return std::nullopt;
}

}  // namespace

void validate_device_list(const Task& task, const std::string& where) {
  const std::vector<Device>& list = task.device_list;
  if (list.empty()) return;
  const std::string opening = where.empty() ? "" : where + ": ";
  if (list.size() != static_cast<std::size_t>(task.devices)) {
    throw Error(opening + "devices is " + std::to_string(task.devices) + ", but " +
                counted(list.size(), "device") + " are listed; give as many");
  }
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Device& device = list[i];
    const std::string label = opening + "device " + std::to_string(i) + ": ";
    if (device.memory_bytes < 1) {
      throw Error(label + "memory is " + std::to_string(device.memory_bytes) +
                  " bytes; give a positive number");
    }
    if (!std::isfinite(device.base_ms) || device.base_ms < 0.0 || device.base_ms > kMostBaseMs) {
      throw Error(label + "base_ms is " + std::to_string(device.base_ms) +
                  "; give a number between 0 and 1e6");
    }
    if (!(device.speed >= kLeastSpeed && device.speed <= kMostSpeed)) {
      throw Error(
          label + "speed is " + std::to_string(device.speed) +
          "; give a number between 0.01 and 100: how many times as fast as the models predict "
          "the device computes");
    }
    if (device.base_bytes < 0 || device.base_bytes > device.memory_bytes) {
      throw Error(label + "the base load takes " + std::to_string(device.base_bytes) +
                  " bytes, but the device has " + std::to_string(device.memory_bytes) +
                  "; give a number from 0 to that");
    }
  }
}

std::optional<std::string> rule_problem_of(const Table& table, int devices) {
  const TableRules& rules = table.rules;
  if (Problem problem = negative_number(rules.min_width, "min_width")) return problem;
  if (Problem problem = negative_number(rules.max_slices, "max_slices")) return problem;
  if (rules.min_width > table.dim) {
    return "the rule min_width is " + std::to_string(rules.min_width) + ", but the table has " +
           std::to_string(table.dim) + " columns; give at most as many";
  }
  if (!rules.limit_devices()) return std::nullopt;
  if (Problem problem = unknown_device(rules.devices, "devices", devices)) return problem;
  if (Problem problem = unknown_device(rules.not_devices, "not_devices", devices)) return problem;
  for (const int device : rules.devices) {
    if (rules.allow(device)) continue;
    return "the rules devices and not_devices contradict each other: both name device " +
           std::to_string(device) + "; take it out of one";
  }
  for (int device = 0; device < devices; ++device) {
    if (rules.allow(device)) return std::nullopt;
  }
  return "the rule not_devices names all " +
         counted(static_cast<std::uint64_t>(devices), "device") +
         ", so that none is left; take one out";
}

}  // namespace neuroshard
