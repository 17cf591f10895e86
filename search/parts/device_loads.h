#pragma once

#include <cstdint>
#include <vector>

#include "neuroshard/backend.h"
#include "neuroshard/plan.h"
#include "neuroshard/task.h"

namespace neuroshard {

/// Memory and time that tables with a place take of each device, for the search that places the
/// others.
struct DeviceLoads {
  std::vector<std::int64_t> bytes;  ///< [devices]
  /// Milliseconds, [devices]; empty if equal devices are to stay equal.
  std::vector<double> compute_ms{};

  [[nodiscard]] std::int64_t most_bytes() const;
};

/// Bytes of `plan`, of some tables of `task`, on each device, [devices], replicas included.
[[nodiscard]] std::vector<std::int64_t> plan_bytes(const Task& task, const Plan& plan);

/// Loads by `plan`, of some tables of `task`. Equal devices are all taken to be as full as the
/// fullest one, so that they stay equal.
[[nodiscard]] DeviceLoads loads_of_devices(const Backend& backend, const Task& task,
                                           const Plan& plan);

/// Loads of each device by itself, equal or not. Row blocks and columns take the time that their
/// operators need at the device's speed. Replicas take none: their operators run after all
/// else, when all devices wait for the slowest, so that they change nothing for the other tables.
[[nodiscard]] DeviceLoads loads_of_each_device(const Backend& backend, const Task& task,
                                               const Plan& plan);

/// Whether each device has room for its load.
[[nodiscard]] bool has_room_for(const Task& task, const DeviceLoads& loads);

/// Whether it has, and some device has room for more.
[[nodiscard]] bool has_room_beside(const Task& task, const DeviceLoads& loads);

}  // namespace neuroshard
