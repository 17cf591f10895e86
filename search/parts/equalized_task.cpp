#include "search/parts/equalized_task.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace neuroshard {
namespace {

/// Whether any device can take the place of any other.
bool are_alike(const Task& task, const std::vector<std::int64_t>& rooms) {
  for (std::size_t d = 1; d < task.device_list.size(); ++d) {
    const Device& first = task.device_list.front();
    const Device& device = task.device_list[d];
    if (device.speed != first.speed || device.base_ms != first.base_ms || rooms[d] != rooms[0]) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::optional<Task> equalized_task(const Task& task) {
  const std::vector<std::int64_t> rooms = rooms_bytes(task);
  const std::int64_t least_room = std::ranges::min(rooms);
  if (are_alike(task, rooms) || least_room < 1) return std::nullopt;
  Task equal = task;
  equal.memory_bytes = least_room;
  equal.reserved = {};
  equal.device_list.clear();
  const double slowest = std::ranges::min(task.device_list, {}, &Device::speed).speed;
  if (slowest == 1.0) return equal;
  equal.device_list.assign(rooms.size(), {.memory_bytes = least_room, .speed = slowest});
  return equal;
}

}  // namespace neuroshard
