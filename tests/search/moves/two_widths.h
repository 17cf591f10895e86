#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/random.h"
#include "neuroshard/plan.h"
#include "neuroshard/task.h"
#include "plain_table.h"

namespace neuroshard::testing {

inline constexpr int kWide = 64;
inline constexpr int kNarrow = 16;

/// Tables of both widths, on devices with room for all of them.
inline Task task_of_two_widths(Random& random) {
  Task task;
  task.devices = 2 + static_cast<int>(random.below(15));
  task.memory_bytes = std::int64_t{1} << 40;
  const auto tables = 2 * task.devices + static_cast<int>(random.below(20));
  for (int i = 0; i < tables; ++i) {
    const int dim = random.below(2) == 0 ? kWide : kNarrow;
    task.tables.push_back(plain_table(1000 << random.below(10), dim, 1 << random.below(5)));
  }
  return task;
}

/// A plan of whole tables, all of them on the first device.
inline Plan plan_on_one_device(const Task& task) {
  Plan plan{.slices = whole_tables(task),
            .shards = std::vector<std::vector<int>>(static_cast<std::size_t>(task.devices))};
  for (std::size_t t = 0; t < task.tables.size(); ++t) {
    plan.shards.front().push_back(static_cast<int>(t));
  }
  return plan;
}

}  // namespace neuroshard::testing
