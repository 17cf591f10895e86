#include "search/replanning/running_parts.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "core/tables/table_rules.h"
#include "neuroshard/column_halvings.h"

namespace neuroshard {

bool is_in_group(const Task& task, std::uint32_t table, Keep keep) {
  return std::ranges::any_of(task.groups, [&](const TableGroup& group) {
    return group.keep == keep &&
           std::ranges::find(group.tables, static_cast<int>(table)) != group.tables.end();
  });
}

std::vector<int> part_widths(const Task& task, std::uint32_t t,
                             std::span<const RunningSlice> running, std::int64_t running_rows) {
  const TableRules& rules = task.tables[t].rules;
  if (rules.no_split || !rules.allow(ShardingKind::kColumn) ||
      is_in_group(task, t, Keep::kTogether)) {
    return {};
  }
  std::vector<TableSlice> slices;
  std::vector<int> widths;
  std::vector<int> of_devices;  // Neighbours on one device are one.
  std::optional<std::uint32_t> device;
  for (const RunningSlice& one : running) {
    if (one.slice.rows < running_rows) return {};
    slices.push_back(one.slice);
    widths.push_back(one.slice.dim);
    if (of_devices.empty() || one.device != device) of_devices.push_back(0);
    of_devices.back() += one.slice.dim;
    device = one.device;
  }
  if (slices.empty() || halvings_of({.slices = std::move(slices), .shards = {}})) return {};
  const auto break_rules = [&] {
    return std::ranges::min(widths) < least_width(task.tables[t]) ||
           (rules.max_slices > 0 && std::cmp_greater(widths.size(), rules.max_slices));
  };
  if (break_rules()) widths = std::move(of_devices);
  while (widths.size() > 1 && break_rules()) {
    const auto narrowest = std::ranges::min_element(widths);
    const bool last = narrowest + 1 == widths.end();
    const auto next = last || (narrowest != widths.begin() && narrowest[-1] < narrowest[1])
                          ? narrowest - 1
                          : narrowest + 1;
    *next += *narrowest;
    widths.erase(narrowest);
  }
  return widths;
}

PartialTask with_parts(PartialTask part, const PartWidths& widths) {
  if (widths.empty()) return part;
  std::vector<Table> tables;
  std::vector<std::uint32_t> listed;
  std::vector<int> first_parts;
  for (std::size_t i = 0; i < part.tables.size(); ++i) {
    first_parts.push_back(static_cast<int>(tables.size()));
    const auto cut = widths.find(part.tables[i]);
    const Table& table = part.task.tables[i];
    const std::vector<int> all = {table.dim};
    const std::vector<int>& of_table = cut == widths.end() ? all : cut->second;
    int column = 0;
    for (const int width : of_table) {
      Table& one = tables.emplace_back(table);
      one.dim = width;
      if (of_table.size() > 1) {
        one.name +=
            " columns " + std::to_string(column) + " to " + std::to_string(column + width - 1);
        one.rules.max_slices /= static_cast<int>(of_table.size());
      }
      listed.push_back(part.tables[i]);
      part.first_columns.push_back(column);
      column += width;
    }
  }
  first_parts.push_back(static_cast<int>(tables.size()));
  part.task.groups = groups_of_parts(part.task.groups, first_parts);
  part.task.tables = std::move(tables);
  part.tables = std::move(listed);
  return part;
}

std::size_t table_at(const PartialTask& part, std::size_t whole, int column) {
  auto at =
      static_cast<std::size_t>(std::ranges::lower_bound(part.tables, whole) - part.tables.begin());
  while (!part.first_columns.empty() &&
         column >= part.first_columns[at] + part.task.tables[at].dim) {
    ++at;
  }
  return at;
}

Plan with_neighbours_joined(const Plan& plan, const PartialTask& rest) {
  const std::set<int> in_parts = tables_in_parts(rest);
  Plan joined{.slices = {}, .shards = {}, .replicas = plan.replicas};
  for (std::vector<TableSlice>& slices : slices_by_device(plan)) {
    std::ranges::stable_sort(slices, {}, [&](const TableSlice& slice) {
      return in_parts.contains(slice.table) ? std::pair(slice.table, slice.first_column)
                                            : std::pair(-1, 0);
    });
    std::vector<int>& of_device = joined.shards.emplace_back();
    for (const TableSlice& slice : slices) {
      if (!of_device.empty() && in_parts.contains(slice.table)) {
        TableSlice& last = joined.slices.back();
        if (last.table == slice.table && last.first_column + last.dim == slice.first_column) {
          last.dim += slice.dim;
          continue;
        }
      }
      of_device.push_back(static_cast<int>(joined.slices.size()));
      joined.slices.push_back(slice);
    }
  }
  return joined;
}

}  // namespace neuroshard
