#include "search/state/slices_in_ways.h"

#include <algorithm>
#include <cstddef>
#include <tuple>

#include "core/plans/equal_blocks.h"

namespace neuroshard {

std::optional<std::vector<StateSlice>> slices_in_ways(const Task& task,
                                                      std::vector<HeldSlice>& held,
                                                      std::span<const GroupOfWay> ways) {
  const int table = held.front().slice.table;
  const std::int64_t rows = task.tables[static_cast<std::size_t>(table)].rows;
  std::ranges::sort(held, {}, [](const HeldSlice& one) {
    return std::tuple(one.slice.first_column, one.slice.first_row);
  });
  std::vector<StateSlice> slices;
  for (std::size_t i = 0; i < held.size();) {
    const TableSlice& first = held[i].slice;
    const int device = held[i].device;
    const auto way = std::find_if(ways.rbegin(), ways.rend(), [&](const GroupOfWay& one) {
      const bool whole = first.rows == rows;  // A single row is no row block.
      return whole == (one.group == 1) && first.rows == rows_of_block(rows, one.group) &&
             device % one.group == 0;
    });
    if (way == ways.rend()) return std::nullopt;
    const std::size_t end = i + static_cast<std::size_t>(count_of_blocks(rows, way->group));
    if (end > held.size()) return std::nullopt;
    for (std::size_t k = i; k < end; ++k) {
      const auto& [block, holder] = held[k];
      const int skipped = static_cast<int>(k - i);
      if (block.first_column != first.first_column || block.dim != first.dim ||
          block.first_row != skipped * first.rows || holder != device + skipped) {
        return std::nullopt;
      }
    }
    slices.push_back({table, first.dim, way->way, device / way->group});
    if (slices.back().way != slices.front().way) return std::nullopt;
    i = end;
  }
  if (slices.front().way == Way::kAll && slices.size() > 1) return std::nullopt;
  return slices;
}

}  // namespace neuroshard
