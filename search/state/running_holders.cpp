#include "search/state/running_holders.h"

#include <map>
#include <numeric>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "core/plans/sharding_kinds.h"
#include "neuroshard/error.h"

namespace neuroshard {
namespace {

std::map<std::string_view, std::vector<std::size_t>> tables_by_name(const Task& task) {
  std::map<std::string_view, std::vector<std::size_t>> tables;
  for (std::size_t t = 0; t < task.tables.size(); ++t) tables[task.tables[t].name].push_back(t);
  return tables;
}

[[noreturn]] void refuse_names(std::string_view name, std::size_t before, std::size_t now) {
  const std::string of_name =
      name.empty() ? std::string("no name") : "the name '" + std::string(name) + "'";
  throw Error(
      std::to_string(before) + " tables of the running plan and " + std::to_string(now) +
      " of the task have " + of_name +
      ", and their order does not say which are the same; give each table a name of its own");
}

RunningPlaces places_in_groups(int now, const RunningPlan& running) {
  const int before = running.task.devices;
  if (!running.lost_devices.empty()) {
    throw Error("devices are lost and groups change their size; plan for one after the other");
  }
  if (before % now != 0 && now % before != 0) {
    throw Error("groups of " + std::to_string(before) + " devices cannot become groups of " +
                std::to_string(now) + "; give a size of which one is a multiple of the other");
  }
  const bool consecutive = running.regrouped == GroupLayout::kConsecutive;
  const int larger = std::max(before, now);
  const int times = larger / std::min(before, now);
  RunningPlaces places{.devices = {}, .groups = std::max(1, before / now), .devices_left = now};
  places.devices.resize(static_cast<std::size_t>(before));
  for (int device = 0; device < larger; ++device) {
    const int other = consecutive ? device % (larger / times) : device / times;
    const auto [running_one, place] =
        before > now ? std::pair(device, other) : std::pair(other, device);
    places.devices[static_cast<std::size_t>(running_one)].push_back(
        static_cast<std::uint32_t>(place));
  }
  return places;
}

}  // namespace

RunningPlaces places_of_running(const Task& task, const RunningPlan& running) {
  if (running.regrouped) return places_in_groups(task.devices, running);
  const int before = running.task.devices;
  std::vector<bool> lost(static_cast<std::size_t>(before), false);
  for (const int device : running.lost_devices) {
    const std::string label = "lost device " + std::to_string(device) + ": ";
    if (device < 0 || device >= before) {
      throw Error(label + "the running plan has devices 0 to " + std::to_string(before - 1) +
                  "; give those numbers that it had there (--lost-devices)");
    }
    if (lost[static_cast<std::size_t>(device)]) {
      throw Error(label + "is listed twice; give each lost device once (--lost-devices)");
    }
    lost[static_cast<std::size_t>(device)] = true;
  }
  const auto left = before - static_cast<int>(running.lost_devices.size());
  if (left > task.devices) {
    throw Error("the running plan has " + std::to_string(before) + " devices, of which " +
                std::to_string(running.lost_devices.size()) + " are lost, but the task has only " +
                std::to_string(task.devices) + "; say which others are lost");
  }
  RunningPlaces places{.devices = {}, .devices_left = left};
  places.devices.resize(static_cast<std::size_t>(before));
  std::uint32_t next = 0;
  for (std::size_t device = 0; device < lost.size(); ++device) {
    if (!lost[device]) places.devices[device] = {next++};
  }
  return places;
}

std::vector<std::optional<std::size_t>> running_tables(const Task& task, const Task& running) {
  const std::map<std::string_view, std::vector<std::size_t>> running_of = tables_by_name(running);
  std::vector<std::optional<std::size_t>> found(task.tables.size());
  for (const auto& [name, tables] : tables_by_name(task)) {
    const auto same_name = running_of.find(name);
    if (same_name == running_of.end()) continue;
    const std::vector<std::size_t>& before = same_name->second;
    // Several of one name are the same ones in the same order, and new ones come last.
    const bool several = std::max(tables.size(), before.size()) > 1;
    if (several && tables.size() < before.size()) refuse_names(name, before.size(), tables.size());
    for (std::size_t i = 0; i < std::min(tables.size(), before.size()); ++i) {
      const Table& was = running.tables[before[i]];
      const Table& is = task.tables[tables[i]];
      if (was.dim == is.dim) found[tables[i]] = before[i];
      if (several && (was.dim != is.dim || is.rows < was.rows)) {
        refuse_names(name, before.size(), tables.size());
      }
    }
  }
  return found;
}

RunningHolders::RunningHolders(const Task& task, const RunningPlan& running,
                               std::vector<std::optional<std::size_t>> before)
    : task_(task),
      running_(running),
      before_(std::move(before)),
      places_(places_of_running(task, running)),
      slices_(running.task.tables.size()) {
  for (const Table& table : task.tables) {
    const RowBytes row = stored_bytes(table.memory);
    total_bytes_ += table.rows * (row.per_column * table.dim + row.per_row);
  }
  const auto by_table = slices_by_table(running.task, running.plan);
  for (std::size_t table = 0; table < by_table.size(); ++table) {
    std::vector<RunningSlice>& slices = slices_[table];
    for (const auto& [slice, device] : by_table[table]) slices.push_back({slice, device});
    std::ranges::sort(slices, {}, [](const RunningSlice& one) {
      return std::tuple(one.slice.first_row, one.slice.first_column);
    });
  }
  place_slices();
}

// Slices that several devices have are shared out among them, those with most lookups first.
void RunningHolders::place_slices() {
  std::vector<std::tuple<double, std::string_view, RunningSlice*>> order;
  for (std::size_t t = 0; t < slices_.size(); ++t) {
    const Table& table = running_.task.tables[t];
    for (RunningSlice& one : slices_[t]) {
      const double share = lookup_share(table, one.slice.first_row, one.slice.rows);
      order.emplace_back(-share * table.pooling_factor * one.slice.dim, table.name, &one);
    }
  }
  std::ranges::stable_sort(
      order, {}, [](const auto& one) { return std::pair(std::get<0>(one), std::get<1>(one)); });
  std::vector<double> loads(static_cast<std::size_t>(task_.devices));
  for (const auto& [negative_load, name, slice] : order) {
    const auto& places = places_.devices[static_cast<std::size_t>(slice->running_device)];
    if (places.empty()) continue;
    slice->device =
        *std::ranges::min_element(places, {}, [&](std::uint32_t d) { return loads[d]; });
    loads[*slice->device] -= negative_load;
  }
}

bool RunningHolders::holds(int device, const RunningSlice& slice) const {
  const auto& places = places_.devices[static_cast<std::size_t>(slice.running_device)];
  return std::ranges::any_of(places, [&](std::uint32_t d) { return std::cmp_equal(d, device); });
}

bool RunningHolders::is_replicated(std::size_t table) const {
  return before_[table] &&
         std::ranges::binary_search(running_.plan.replicas, static_cast<int>(*before_[table]));
}

std::span<const RunningSlice> RunningHolders::slices(std::size_t table) const {
  if (!before_[table]) return {};
  return slices_[*before_[table]];
}

std::int64_t RunningHolders::kept_rows(std::size_t table) const {
  if (!before_[table]) return 0;
  return std::min(running_.task.tables[*before_[table]].rows, task_.tables[table].rows);
}

template <typename Send>
void RunningHolders::for_each_part(const TableSlice& slice, int to, const Send& send) const {
  const auto table = static_cast<std::size_t>(slice.table);
  const RowBytes row = stored_bytes(task_.tables[table].memory);
  const auto send_rows = [&](int from, int first_column, int dim, std::int64_t first_row,
                             std::int64_t end_row, int groups) {
    if (first_row >= end_row || dim <= 0 || groups == 0) return;
    const std::int64_t rows = end_row - first_row;
    send({.columns = {.table = slice.table, .first_column = first_column, .dim = dim},
          .from = from,
          .to = to,
          .bytes = groups * rows * (row.per_column * dim + row.per_row),
          .first_row = first_row,
          .rows = rows});
  };
  const std::int64_t end_row = slice.first_row + slice.rows;
  const std::int64_t rows_before =
      before_[table] ? std::clamp(kept_rows(table), slice.first_row, end_row) : slice.first_row;
  if (is_replicated(table)) {
    if (to >= places_.devices_left) {
      send_rows(places_.devices_left > 0 ? 0 : -1, slice.first_column, slice.dim, slice.first_row,
                rows_before, places_.groups);
    }
  } else {
    const std::span<const RunningSlice> all = slices(table);
    for (std::size_t i = 0; i < all.size(); ++i) {
      RunningSlice held = all[i];
      // Lost slices side by side come as one.
      for (; !held.device && i + 1 < all.size() && !all[i + 1].device &&
             all[i + 1].slice.first_row == held.slice.first_row &&
             all[i + 1].slice.rows == held.slice.rows &&
             all[i + 1].slice.first_column == held.slice.first_column + held.slice.dim;
           ++i) {
        held.slice.dim += all[i + 1].slice.dim;
      }
      const int column = std::max(held.slice.first_column, slice.first_column);
      const int dim =
          std::min(held.slice.first_column + held.slice.dim, slice.first_column + slice.dim) -
          column;
      const int from = held.device ? static_cast<int>(*held.device) : -1;
      send_rows(from, column, dim, std::max(held.slice.first_row, slice.first_row),
                std::min(held.slice.first_row + held.slice.rows, rows_before),
                places_.groups - (holds(to, held) ? 1 : 0));
    }
  }
  send_rows(-1, slice.first_column, slice.dim, rows_before, end_row, places_.groups);
}

void RunningHolders::add_moves(const TableSlice& slice, int to,
                               std::vector<TableMove>& moves) const {
  const auto first = static_cast<std::ptrdiff_t>(moves.size());
  for_each_part(slice, to, [&](const TableMove& move) {
    const auto before = std::find_if(moves.begin() + first, moves.end(), [&](const TableMove& one) {
      return one.from == move.from && one.columns == move.columns &&
             one.first_row + one.rows == move.first_row;
    });
    if (before == moves.end()) return moves.push_back(move);
    before->rows += move.rows;
    before->bytes += move.bytes;
  });
}

std::int64_t RunningHolders::moved_bytes(const TableSlice& slice, int to) const {
  std::int64_t bytes = 0;
  for_each_part(slice, to, [&](const TableMove& move) { bytes += move.bytes; });
  return bytes;
}

std::vector<TableMove> RunningHolders::moves_to(const Plan& plan) const {
  std::vector<TableMove> moves;
  const auto by_device = slices_by_device(plan);
  for (std::size_t d = 0; d < by_device.size(); ++d) {
    const int device = static_cast<int>(d);
    for (const int t : plan.replicas) {
      const Table& table = task_.tables[static_cast<std::size_t>(t)];
      add_moves({t, 0, table.dim, 0, table.rows}, device, moves);
    }
    for (const TableSlice& slice : by_device[d]) add_moves(slice, device, moves);
  }
  sort_moves(moves);
  return moves;
}

std::int64_t RunningHolders::missing_bytes(std::size_t table) const {
  const Table& of = task_.tables[table];
  const TableSlice whole{static_cast<int>(table), 0, of.dim, 0, of.rows};
  if (!before_[table] || is_replicated(table)) return moved_bytes(whole, 0);
  const std::int64_t rows_before = running_.task.tables[*before_[table]].rows;
  std::int64_t bytes = 0;
  for (const RunningSlice& held : slices(table)) {
    TableSlice slice = held.slice;
    slice.table = whole.table;
    const bool is_last = slice.first_row + slice.rows == rows_before;
    const std::int64_t end_row =
        is_last ? whole.rows : std::min(slice.first_row + slice.rows, whole.rows);
    slice.rows = end_row - slice.first_row;
    if (slice.rows <= 0) continue;
    bytes += moved_bytes(slice, held.device ? static_cast<int>(*held.device) : task_.devices);
  }
  return bytes;
}

void sort_moves(std::vector<TableMove>& moves) {
  std::ranges::stable_sort(moves, {}, [](const TableMove& move) {
    return std::tuple(move.to, move.columns.table, move.columns.first_column, move.first_row);
  });
}

std::int64_t moved_bytes(std::span<const TableMove> moves) {
  return std::transform_reduce(moves.begin(), moves.end(), std::int64_t{0}, std::plus<>(),
                               [](const TableMove& move) { return move.bytes; });
}

}  // namespace neuroshard
