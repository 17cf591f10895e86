#include "search/state/slices_in_ways.h"

#include <algorithm>
#include <cstddef>
#include <tuple>

#include "core/plans/equal_blocks.h"

namespace neuroshard {
namespace {

/// `held` is in the order of columns and rows. Nothing: the table is not in this way.
std::optional<std::vector<StateSlice>> slices_in_way(const Task& task,
                                                     std::span<const HeldSlice> held, Way way,
                                                     int group) {
  if (group == 0) return std::nullopt;
  const int table = held.front().slice.table;
  const std::int64_t rows = task.tables[static_cast<std::size_t>(table)].rows;
  const auto blocks = static_cast<std::size_t>(count_of_blocks(rows, group));
  if (held.size() % blocks != 0) return std::nullopt;
  // On all devices there are no grids.
  if (held.size() > blocks && group > 1 && group == task.devices) return std::nullopt;
  std::vector<StateSlice> slices;
  for (std::size_t i = 0; i < held.size(); i += blocks) {
    const auto& [first, device] = held[i];
    if (first.rows != rows_of_block(rows, group) || device % group != 0) return std::nullopt;
    if (device + group > task.devices) return std::nullopt;  // Few rows have fewer blocks.
    for (std::size_t k = 0; k < blocks; ++k) {
      const auto& [block, holder] = held[i + k];
      const int skipped = static_cast<int>(k);
      if (block.first_column != first.first_column || block.dim != first.dim ||
          block.first_row != skipped * first.rows || holder != device + skipped) {
        return std::nullopt;
      }
    }
    slices.push_back({table, first.dim, way, device / group});
  }
  return slices;
}

}  // namespace

std::optional<std::vector<StateSlice>> slices_in_ways(const Task& task,
                                                      std::vector<HeldSlice>& held,
                                                      std::span<const int> groups) {
  std::ranges::sort(held, {}, [](const HeldSlice& one) {
    return std::tuple(one.slice.first_column, one.slice.first_row);
  });
  const TableSlice& first = held.front().slice;
  const std::int64_t rows = task.tables[static_cast<std::size_t>(first.table)].rows;
  // A single row is no row block, if it need not be.
  const bool whole = first.rows == rows && std::ranges::find(groups, 1) != groups.end();
  for (std::size_t form = groups.size(); form > 0; --form) {
    const int group = groups[form - 1];
    if (whole != (group == 1)) continue;
    if (auto slices = slices_in_way(task, held, static_cast<Way>(form - 1), group)) return slices;
  }
  return std::nullopt;
}

}  // namespace neuroshard
