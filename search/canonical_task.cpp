#include "search/canonical_task.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace neuroshard {

CanonicalTask::CanonicalTask(const Task& listed) : original(listed.tables.size()) {
  std::iota(original.begin(), original.end(), 0U);
  const auto key = [&](std::uint32_t index) {
    const Table& table = listed.tables[index];
    return std::tie(table.rows, table.dim, table.pooling_factor, table.access_histogram);
  };
  std::stable_sort(original.begin(), original.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
  task.devices = listed.devices;
  task.memory_bytes = listed.memory_bytes;
  task.tables.reserve(original.size());
  for (const std::uint32_t index : original) {
    Table& table = task.tables.emplace_back();
    const Table& from = listed.tables[index];
    table.rows = from.rows;
    table.dim = from.dim;
    table.pooling_factor = from.pooling_factor;
    table.access_histogram = from.access_histogram;
  }
}

}  // namespace neuroshard
