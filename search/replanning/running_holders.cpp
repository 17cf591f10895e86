#include "search/replanning/running_holders.h"

#include <algorithm>
#include <tuple>

#include "search/residency.h"

namespace neuroshard {

RunningHolders::RunningHolders(const Task& task, const RunningPlan& running)
    : task_(task),
      running_(running),
      survivors_(surviving_devices(task, running)),
      devices_left_(running.task.devices - static_cast<int>(running.lost_devices.size())),
      slices_(running.task.tables.size()) {
  const auto by_device = slices_by_device(running.plan);
  for (std::size_t device = 0; device < by_device.size(); ++device) {
    for (const TableSlice& slice : by_device[device]) {
      slices_[static_cast<std::size_t>(slice.table)].push_back({slice, survivors_[device]});
    }
  }
  for (std::vector<RunningSlice>& slices : slices_) {
    std::ranges::sort(slices, {}, [](const RunningSlice& one) {
      return std::tuple(one.slice.first_row, one.slice.first_column);
    });
  }
}

bool RunningHolders::is_replicated(std::size_t running_table) const {
  return std::ranges::binary_search(running_.plan.replicas, static_cast<int>(running_table));
}

void RunningHolders::add_moves(const TableSlice& slice, int to,
                               std::optional<std::size_t> running_table,
                               std::vector<TableMove>& moves) const {
  const RowBytes row = stored_bytes(task_.tables[static_cast<std::size_t>(slice.table)].memory);
  const auto first = static_cast<std::ptrdiff_t>(moves.size());
  const auto send = [&](int from, int first_column, int dim, std::int64_t first_row,
                        std::int64_t end_row) {
    if (first_row >= end_row || dim <= 0) return;
    const TableColumns columns{.table = slice.table, .first_column = first_column, .dim = dim};
    const std::int64_t rows = end_row - first_row;
    const std::int64_t bytes = rows * (row.per_column * dim + row.per_row);
    const auto before = std::find_if(moves.begin() + first, moves.end(), [&](const TableMove& one) {
      return one.from == from && one.columns == columns && one.first_row + one.rows == first_row;
    });
    if (before == moves.end()) {
      moves.push_back({.columns = columns,
                       .from = from,
                       .to = to,
                       .bytes = bytes,
                       .first_row = first_row,
                       .rows = rows});
    } else {
      before->rows += rows;
      before->bytes += bytes;
    }
  };
  const std::int64_t end_row = slice.first_row + slice.rows;
  const std::int64_t rows_before =
      running_table
          ? std::clamp(running_.task.tables[*running_table].rows, slice.first_row, end_row)
          : slice.first_row;
  if (running_table && is_replicated(*running_table)) {
    if (to >= devices_left_) {
      send(devices_left_ > 0 ? 0 : -1, slice.first_column, slice.dim, slice.first_row, rows_before);
    }
  } else if (running_table) {
    for (const RunningSlice& held : slices_[*running_table]) {
      const int column = std::max(held.slice.first_column, slice.first_column);
      const int dim =
          std::min(held.slice.first_column + held.slice.dim, slice.first_column + slice.dim) -
          column;
      const int from = held.device ? static_cast<int>(*held.device) : -1;
      if (from != to) {
        send(from, column, dim, std::max(held.slice.first_row, slice.first_row),
             std::min(held.slice.first_row + held.slice.rows, rows_before));
      }
    }
  }
  send(-1, slice.first_column, slice.dim, rows_before, end_row);
}

std::int64_t RunningHolders::missing_bytes(const TableSlice& whole,
                                           std::optional<std::size_t> running_table) const {
  std::vector<TableMove> moves;
  if (!running_table || is_replicated(*running_table)) {
    add_moves(whole, 0, running_table, moves);
    return moved_bytes(moves);
  }
  const std::int64_t rows_before = running_.task.tables[*running_table].rows;
  for (const RunningSlice& held : slices_[*running_table]) {
    TableSlice slice = held.slice;
    slice.table = whole.table;
    const bool is_last = slice.first_row + slice.rows == rows_before;
    const std::int64_t end_row =
        is_last ? whole.rows : std::min(slice.first_row + slice.rows, whole.rows);
    slice.rows = end_row - slice.first_row;
    if (slice.rows <= 0) continue;
    add_moves(slice, held.device ? static_cast<int>(*held.device) : task_.devices, running_table,
              moves);
  }
  return moved_bytes(moves);
}

}  // namespace neuroshard
