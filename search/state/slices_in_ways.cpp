#include "search/state/slices_in_ways.h"

#include <algorithm>
#include <cstddef>
#include <tuple>

#include "core/plans/equal_blocks.h"

namespace neuroshard {

std::optional<std::vector<StateSlice>> slices_in_ways(const Task& task,
                                                      std::vector<HeldSlice>& held,
                                                      std::span<const int> groups) {
  const int table = held.front().slice.table;
  const std::int64_t rows = task.tables[static_cast<std::size_t>(table)].rows;
  std::ranges::sort(held, {}, [](const HeldSlice& one) {
    return std::tuple(one.slice.first_column, one.slice.first_row);
  });
  std::vector<StateSlice> slices;
  for (std::size_t i = 0; i < held.size();) {
    const TableSlice& first = held[i].slice;
    const int device = held[i].device;
    // A single row is no row block, if it need not be.
    const bool whole = first.rows == rows && std::ranges::find(groups, 1) != groups.end();
    std::size_t form = groups.size();
    const auto is = [&](int group) {
      return group > 0 && whole == (group == 1) && first.rows == rows_of_block(rows, group) &&
             device % group == 0 && device + group <= task.devices;
    };
    while (form > 0 && !is(groups[form - 1])) --form;
    if (form == 0) return std::nullopt;
    const int group = groups[--form];
    const std::size_t end = i + static_cast<std::size_t>(count_of_blocks(rows, group));
    if (end > held.size()) return std::nullopt;
    for (std::size_t k = i; k < end; ++k) {
      const auto& [block, holder] = held[k];
      const int skipped = static_cast<int>(k - i);
      if (block.first_column != first.first_column || block.dim != first.dim ||
          block.first_row != skipped * first.rows || holder != device + skipped) {
        return std::nullopt;
      }
    }
    slices.push_back({table, first.dim, static_cast<Way>(form), device / group});
    if (slices.back().way != slices.front().way) return std::nullopt;
    // On all devices there are no grids.
    if (slices.size() > 1 && group > 1 && group == task.devices) return std::nullopt;
    i = end;
  }
  return slices;
}

}  // namespace neuroshard
