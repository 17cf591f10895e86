#include "search/residency.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "neuroshard/error.h"

namespace neuroshard {
namespace {

void require_columns(const RunningPlan& running) {
  for (const TableSlice& slice : running.plan.slices) {
    if (!is_row_block(running.task, slice)) continue;
    throw Error("the running plan cuts table " + std::to_string(slice.table) +
                " by rows, and re-planning knows only what devices hold of whole columns; plan the "
                "task anew");
  }
}

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

int overlap(const Residency::Range& range, int first_column, int dim) {
  return std::max(0, std::min(range.first_column + range.dim, first_column + dim) -
                         std::max(range.first_column, first_column));
}

/// Slices of a layout, by table.
std::vector<std::vector<std::uint32_t>> slices_by_table(const PieceCatalog& catalog,
                                                        const Layout& layout) {
  std::vector<std::vector<std::uint32_t>> slices(catalog.tables());
  for (std::uint32_t i = 0; i < layout.size(); ++i) slices[layout[i].table].push_back(i);
  return slices;
}

/// Halves nodes of a table's columns until the slices of one table have one each.
void hand_out(const PieceCatalog& catalog, const Layout& layout, std::vector<std::uint32_t> slices,
              std::span<const Residency::Range> resident, std::vector<int>& first_columns) {
  std::stable_sort(slices.begin(), slices.end(), [&](std::uint32_t a, std::uint32_t b) {
    return catalog.dim(layout[a].piece) > catalog.dim(layout[b].piece);
  });
  struct Choice {
    int kept;
    std::uint32_t slice;
    std::size_t node;
  };
  int width = catalog.dim(catalog.whole(layout[slices.front()].table));
  std::vector<int> free{0};  // First columns of the nodes of this width that are free.
  std::vector<Choice> choices;
  for (auto next = slices.begin(); next != slices.end();) {
    for (; width > catalog.dim(layout[*next].piece); width /= 2) {
      std::vector<int> halves;
      for (const int node : free) halves.insert(halves.end(), {node, node + width / 2});
      free = std::move(halves);
    }
    const auto end = std::find_if(next, slices.end(), [&](std::uint32_t slice) {
      return catalog.dim(layout[slice].piece) != width;
    });
    choices.clear();
    for (auto slice = next; slice != end; ++slice) {
      for (std::size_t node = 0; node < free.size(); ++node) {
        int kept = 0;
        for (const Residency::Range& range : resident) {
          if (range.device == layout[*slice].device) kept += overlap(range, free[node], width);
        }
        if (kept > 0) choices.push_back({kept, *slice, node});
      }
    }
    std::stable_sort(choices.begin(), choices.end(),
                     [](const Choice& a, const Choice& b) { return a.kept > b.kept; });
    std::vector<bool> taken(free.size(), false);
    for (const Choice& choice : choices) {
      if (first_columns[choice.slice] >= 0 || taken[choice.node]) continue;
      first_columns[choice.slice] = free[choice.node];
      taken[choice.node] = true;
    }
    // The rest take what is left.
    std::size_t node = 0;
    for (; next != end; ++next) {
      if (first_columns[*next] >= 0) continue;
      while (taken[node]) ++node;
      first_columns[*next] = free[node];
      taken[node] = true;
    }
    std::vector<int> left;
    for (std::size_t i = 0; i < free.size(); ++i) {
      if (!taken[i]) left.push_back(free[i]);
    }
    free = std::move(left);
  }
}

}  // namespace

std::vector<std::optional<std::uint32_t>> surviving_devices(const Task& task,
                                                            const RunningPlan& running) {
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
  std::vector<std::optional<std::uint32_t>> survivors(static_cast<std::size_t>(before));
  std::uint32_t next = 0;
  for (std::size_t device = 0; device < survivors.size(); ++device) {
    if (!lost[device]) survivors[device] = next++;
  }
  return survivors;
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

Residency::Residency(const Task& task, std::span<const std::uint32_t> listed,
                     const RunningPlan& running,
                     std::span<const std::optional<std::size_t>> running_table)
    : ranges_(listed.size()), replicas_(listed.size(), 0) {
  stored_.reserve(listed.size());
  if (!running.task.tables.empty()) {  // None: all tables of a larger task are fixed or new.
    validate(running.task, "the running task");
    validate(running.plan, running.task);
  }
  require_columns(running);
  const auto survivors = surviving_devices(task, running);
  std::vector<std::vector<Range>> running_ranges(running.task.tables.size());
  const auto by_device = slices_by_device(running.plan);
  for (std::size_t device = 0; device < by_device.size(); ++device) {
    if (!survivors[device]) continue;
    for (const TableSlice& slice : by_device[device]) {
      running_ranges[static_cast<std::size_t>(slice.table)].push_back(
          {*survivors[device], slice.first_column, slice.dim});
    }
  }
  const auto devices_left =
      static_cast<std::uint32_t>(survivors.size() - running.lost_devices.size());
  for (std::size_t t = 0; t < listed.size(); ++t) {
    const Table& table = task.tables[listed[t]];
    dims_.push_back(table.dim);
    const Stored& stored = stored_.emplace_back(Stored{table.rows, 0, stored_bytes(table.memory)});
    total_bytes_ += table.rows * table.dim * stored.bytes.per_column;
    if (const std::optional<std::size_t> before = running_table[listed[t]]) {
      stored_[t].kept_rows = std::min(running.task.tables[*before].rows, table.rows);
      if (std::ranges::binary_search(running.plan.replicas, static_cast<int>(*before))) {
        replicas_[t] = devices_left;
      }
      ranges_[t] = running_ranges[*before];
      std::sort(ranges_[t].begin(), ranges_[t].end(),
                [](const Range& a, const Range& b) { return a.first_column < b.first_column; });
    }
    least_bytes_ += missing_bytes(t);
  }
}

/// Columns that no device holds, and rows that have been added to the others.
std::int64_t Residency::missing_bytes(std::size_t table) const {
  const int dim = dims_[table];
  std::int64_t bytes = 0;
  int column = 0;
  const auto miss = [&](int columns, std::int64_t rows) {
    if (columns > 0 && rows > 0) bytes += part_bytes(table, columns, rows);
  };
  const std::int64_t new_rows = rows(table) - kept_rows(table);
  for (const Range& range : ranges_[table]) {
    miss(range.first_column - column, rows(table));
    column = range.first_column + range.dim;
  }
  int held = 0;
  if (replicas_[table] > 0) {
    held = dim;
  } else {
    miss(dim - column, rows(table));
  }
  for (const Range& range : ranges_[table]) held += range.dim;
  // One device may come to hold all of them.
  miss(held, new_rows);
  return bytes;
}

int Residency::columns(std::size_t table, std::uint32_t device) const {
  if (device < replicas_[table]) return dims_[table];
  int columns = 0;
  for (const Range& range : ranges_[table]) {
    if (range.device == device) columns += range.dim;
  }
  return columns;
}

std::vector<std::uint32_t> Residency::holders(std::size_t table) const {
  std::vector<std::uint32_t> devices(replicas_[table]);
  std::iota(devices.begin(), devices.end(), 0U);
  for (const Range& range : ranges_[table]) devices.push_back(range.device);
  std::ranges::sort(devices);
  devices.erase(std::unique(devices.begin(), devices.end()), devices.end());
  return devices;
}

std::vector<int> columns_to_keep(const PieceCatalog& catalog, const Layout& layout,
                                 const Residency& residency) {
  std::vector<int> first_columns(layout.size(), -1);
  const auto by_table = slices_by_table(catalog, layout);
  for (std::size_t table = 0; table < by_table.size(); ++table) {
    hand_out(catalog, layout, by_table[table], residency.of_table(table), first_columns);
  }
  return first_columns;
}

std::vector<TableMove> moves_of(const PieceCatalog& catalog, const Layout& layout,
                                std::span<const int> first_columns, const Residency& residency) {
  std::vector<TableMove> moves;
  for (std::size_t i = 0; i < layout.size(); ++i) {
    const std::size_t table = layout[i].table;
    const int end = first_columns[i] + catalog.dim(layout[i].piece);
    const std::int64_t kept_rows = residency.kept_rows(table);
    const auto send = [&](int from, int first, int dim, std::int64_t first_row,
                          std::int64_t end_row) {
      if (dim <= 0 || first_row == end_row) return;
      moves.push_back({.columns = {static_cast<int>(table), first, dim},
                       .from = from,
                       .to = static_cast<int>(layout[i].device),
                       .bytes = residency.part_bytes(table, dim, end_row - first_row),
                       .first_row = first_row,
                       .rows = end_row - first_row});
    };
    // What some device holds; rows that the table has grown by, none does.
    const auto send_held = [&](std::uint32_t from, int first, int dim) {
      if (from != layout[i].device) send(static_cast<int>(from), first, dim, 0, kept_rows);
      send(-1, first, dim, kept_rows, residency.rows(table));
    };
    const auto send_lost = [&](int first, int dim) {
      send(-1, first, dim, 0, residency.rows(table));
    };
    int column = first_columns[i];
    if (const std::uint32_t replicas = residency.replicas(table)) {
      send_held(layout[i].device < replicas ? layout[i].device : 0, column, end - column);
      continue;
    }
    for (const Residency::Range& range : residency.of_table(table)) {
      if (range.first_column + range.dim <= column || range.first_column >= end) continue;
      send_lost(column, range.first_column - column);
      column = std::max(column, range.first_column);
      const int held = std::min(end, range.first_column + range.dim) - column;
      send_held(range.device, column, held);
      column += held;
    }
    send_lost(column, end - column);
  }
  sort_moves(moves);
  return moves;
}

void sort_moves(std::vector<TableMove>& moves) {
  std::ranges::stable_sort(moves, {}, [](const TableMove& move) {
    return std::tuple(move.to, move.columns.table, move.columns.first_column, move.first_row);
  });
}

std::int64_t moved_bytes(std::span<const TableMove> moves) {
  std::int64_t bytes = 0;
  for (const TableMove& move : moves) bytes += move.bytes;
  return bytes;
}

}  // namespace neuroshard
