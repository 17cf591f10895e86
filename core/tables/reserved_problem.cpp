#include "core/tables/reserved_problem.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/base/message_text.h"

namespace neuroshard {

std::optional<std::string> reserved_share_problem_of(double share) {
  if (share >= 0.0 && share < 1.0) return std::nullopt;
  return " is " + shortest_text(share) + "; give a number of at least 0 and less than 1, e.g. 0.15";
}

std::optional<std::string> reserved_problem_of(const Task& task) {
  const auto& [bytes, share] = task.reserved;
  if (bytes < 0) {
    return "reserved memory is " + std::to_string(bytes) +
           " bytes; give a number that is not negative";
  }
  if (const std::optional<std::string> problem = reserved_share_problem_of(share)) {
    return "the reserved share of memory (reserved_share)" + *problem;
  }
  const std::size_t devices = std::max<std::size_t>(task.device_list.size(), 1);
  for (std::size_t device = 0; device < devices; ++device) {
    const std::int64_t memory = memory_bytes(task, device);
    if (bytes >= memory || reserved_bytes(task, device) >= memory) {
      return "all memory of " +
             (task.device_list.empty() ? "a device" : "device " + std::to_string(device)) + ", " +
             format_bytes(memory) + ", is reserved; reserve less, or give more memory";
    }
    if (room_bytes(task, device) < 0) {
      return "device " + std::to_string(device) + ": the base load takes " +
             format_bytes(task.device_list[device].base_bytes) + ", and " +
             format_bytes(reserved_bytes(task, device)) + " are reserved, but it has " +
             format_bytes(memory) + "; reserve less, or give more memory";
    }
  }
  return std::nullopt;
}

}  // namespace neuroshard
