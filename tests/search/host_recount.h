#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "neuroshard/plan.h"
#include "neuroshard/task.h"

namespace neuroshard::testing {

/// Memory of what a device has beside rows, and of its rows, [slices of the device].
struct StoredBytes {
  std::int64_t buffers = 0;
  std::int64_t rows = 0;
};

/// As the task says of all devices, and of this one.
[[nodiscard]] HostMemory host_on(const Task& task, std::size_t device);

/// Expects what a device fetches from its host, and from the SSD, to lie between what it would if
/// rows stayed in HBM for a third fewer and for half as many batches more as there is room for: the
/// library knows curves at points so far apart. `room_bytes`: of HBM, without replicas.
void expect_fetches(const Task& task, const Plan& plan, const PlanCost& cost, std::size_t device,
                    const std::vector<StoredBytes>& stored, std::int64_t room_bytes);

}  // namespace neuroshard::testing
