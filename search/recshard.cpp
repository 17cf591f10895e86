#include "search/recshard.h"

#include <algorithm>
#include <cstddef>

#include "core/tables/row_popularity.h"

namespace neuroshard {
namespace {

// Cost models do not know the rate of HBM. This is an A100's, in bytes a millisecond. It decides no
// more than how much dearer a row of the host is.
constexpr double kHbmRate = 1.555e9;

/// Rows of a table that are looked up equally often.
struct Rows {
  std::size_t table;
  double size_bytes;
  double looked_up_bytes;  ///< In an iteration.
};

}  // namespace

std::vector<double> recshard_costs_ms(const Task& task) {
  std::vector<double> costs_ms(task.tables.size());
  std::vector<Rows> rows;
  double left_bytes = 0.0;
  for (std::size_t d = 0; d < static_cast<std::size_t>(task.devices); ++d) {
    left_bytes += static_cast<double>(hbm_room_bytes(task, d));
  }
  for (std::size_t t = 0; t < task.tables.size(); ++t) {
    const Table& table = task.tables[t];
    const double row_bytes = static_cast<double>(slice_memory(table, table.dim).weight_bytes) /
                             static_cast<double>(table.rows);
    const double looked_up =
        static_cast<double>(task.batch_size) * table.pooling_factor * row_bytes;
    costs_ms[t] = looked_up / kHbmRate;
    if (task.host.bytes == 0) continue;
    if (table.rules.keep_in_hbm) {
      left_bytes -= static_cast<double>(table.size_bytes());
      continue;
    }
    PopularRows before;
    for (const PopularRows& point : popularity_of(table)) {
      rows.push_back(
          {t, (point.rows - before.rows) * row_bytes, (point.share - before.share) * looked_up});
      before = point;
    }
  }
  std::ranges::stable_sort(rows, std::ranges::greater(),
                           [](const Rows& of) { return of.looked_up_bytes / of.size_bytes; });
  for (const auto& [table, size_bytes, looked_up_bytes] : rows) {
    const double in_hbm = std::clamp(left_bytes, 0.0, size_bytes);
    left_bytes -= in_hbm;
    const double from_host = looked_up_bytes * (1.0 - in_hbm / size_bytes);
    costs_ms[table] += from_host / (task.host.link_gb_s * 1e6) - from_host / kHbmRate;
  }
  return costs_ms;
}

}  // namespace neuroshard
