#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/random.h"
#include "neuroshard/task.h"
#include "neuroshard/zipf_histogram.h"

namespace neuroshard::testing {

/// HBM has room for a part of it, and hosts for more than all.
inline Task hosted_task(std::uint64_t seed, double hbm_share) {
  Random random(seed, 71);
  Task task;
  task.devices = 2 << random.below(3);
  const std::size_t tables = 6 + random.below(30);
  for (std::size_t t = 0; t < tables; ++t) {
    Table& table = task.tables.emplace_back();
    table.rows = 100'000 + static_cast<std::int64_t>(random.below(8'000'000));
    table.dim = static_cast<int>(16U << random.below(4));
    table.pooling_factor = 1.0 + 20.0 * random.uniform();
    table.access_histogram = zipf_histogram(table.rows, table.pooling_factor);
  }
  const std::int64_t total = total_bytes(task);
  task.memory_bytes =
      static_cast<std::int64_t>(hbm_share * static_cast<double>(total)) / task.devices;
  task.host = {.bytes = 2 * total / task.devices, .link_gb_s = 25.0};
  return task;
}

}  // namespace neuroshard::testing
