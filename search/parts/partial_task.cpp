#include "search/parts/partial_task.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace neuroshard {

namespace {

void add_base_loads(std::vector<Device>& devices, const DeviceLoads& loads) {
  for (std::size_t d = 0; d < devices.size(); ++d) {
    devices[d].base_bytes += loads.bytes[d];
    devices[d].base_ms = std::min(devices[d].base_ms + loads.compute_ms[d], kMostBaseMs);
  }
}

}  // namespace

PartialTask task_without(const Task& whole, const std::vector<std::uint32_t>& taken) {
  PartialTask part{.task = without_tables(whole), .tables = {}};
  std::vector<int> of_part(whole.groups.empty() ? 0 : whole.tables.size(), -1);
  auto next = taken.begin();
  for (std::uint32_t t = 0; t < whole.tables.size(); ++t) {
    if (next != taken.end() && *next == t) {
      ++next;
      continue;
    }
    if (!of_part.empty()) of_part[t] = static_cast<int>(part.tables.size());
    part.tables.push_back(t);
    part.task.tables.push_back(whole.tables[t]);
  }
  for (TableGroup group : whole.groups) {
    for (int& table : group.tables) table = of_part[static_cast<std::size_t>(table)];
    std::erase(group.tables, -1);
    if (group.tables.size() > 1) part.task.groups.push_back(std::move(group));
  }
  return part;
}

PartialTask task_without(const Task& whole, const std::vector<std::uint32_t>& taken,
                         const DeviceLoads& loads) {
  PartialTask part = task_without(whole, taken);
  if (loads.compute_ms.empty()) {
    part.task.reserved.bytes += loads.most_bytes();
    return part;
  }
  std::vector<Device>& devices = part.task.device_list;
  if (devices.empty()) devices.assign(loads.bytes.size(), {.memory_bytes = whole.memory_bytes});
  add_base_loads(devices, loads);
  return part;
}

std::vector<TableGroup> groups_of_parts(const std::vector<TableGroup>& groups,
                                        std::span<const int> first_parts) {
  std::vector<TableGroup> of_parts;
  const auto begin_of = [&](int table) { return first_parts[static_cast<std::size_t>(table)]; };
  const auto end_of = [&](int table) { return first_parts[static_cast<std::size_t>(table) + 1]; };
  for (const TableGroup& group : groups) {
    const bool any_cut = std::ranges::any_of(
        group.tables, [&](int table) { return end_of(table) - begin_of(table) > 1; });
    if (!any_cut) {
      TableGroup& same = of_parts.emplace_back(group);
      for (int& table : same.tables) table = begin_of(table);
      continue;
    }
    // A part of the one and a part of the other at a time.
    for (auto one = group.tables.begin(); one != group.tables.end(); ++one) {
      for (auto other = one + 1; other != group.tables.end(); ++other) {
        for (int a = begin_of(*one); a < end_of(*one); ++a) {
          for (int b = begin_of(*other); b < end_of(*other); ++b) {
            of_parts.push_back({.name = group.name, .tables = {a, b}, .keep = group.keep});
          }
        }
      }
    }
  }
  return of_parts;
}

std::set<int> tables_in_parts(const PartialTask& part) {
  std::set<int> in_parts;
  for (std::size_t i = 0; i + 1 < part.tables.size(); ++i) {
    if (part.tables[i] == part.tables[i + 1]) in_parts.insert(static_cast<int>(part.tables[i]));
  }
  return in_parts;
}

std::optional<Plan> part_of(const PartialTask& part, const Plan& whole) {
  Plan plan;
  std::vector<bool> placed(part.tables.size(), false);
  for (const std::vector<int>& shard : whole.shards) {
    std::vector<int>& of_part = plan.shards.emplace_back();
    for (const int index : shard) {
      TableSlice slice = whole.slices[static_cast<std::size_t>(index)];
      const auto first = std::ranges::lower_bound(
          part.tables, slice.table, {}, [](std::uint32_t t) { return static_cast<int>(t); });
      auto i = static_cast<std::size_t>(first - part.tables.begin());
      if (first == part.tables.end() || std::cmp_not_equal(*first, slice.table)) continue;
      const auto first_column = [&] {
        return part.first_columns.empty() ? 0 : part.first_columns[i];
      };
      while (i < part.tables.size() && std::cmp_equal(part.tables[i], slice.table) &&
             first_column() != slice.first_column) {
        ++i;
      }
      if (i == part.tables.size() || placed[i] || std::cmp_not_equal(part.tables[i], slice.table) ||
          part.task.tables[i].dim != slice.dim || part.task.tables[i].rows != slice.rows) {
        return std::nullopt;
      }
      placed[i] = true;
      slice.table = static_cast<int>(i);
      slice.first_column = 0;
      of_part.push_back(static_cast<int>(plan.slices.size()));
      plan.slices.push_back(slice);
    }
  }
  if (std::ranges::count(placed, false) > 0) return std::nullopt;
  return plan;
}

void add_part(Plan& plan, const PartialTask& part, const Plan& of_part) {
  const int first = static_cast<int>(plan.slices.size());
  for (TableSlice slice : of_part.slices) {
    const auto t = static_cast<std::size_t>(slice.table);
    slice.table = static_cast<int>(part.tables[t]);
    if (!part.first_columns.empty()) slice.first_column += part.first_columns[t];
    plan.slices.push_back(slice);
  }
  for (std::size_t d = 0; d < plan.shards.size(); ++d) {
    for (const int slice : of_part.shards[d]) plan.shards[d].push_back(first + slice);
  }
}

}  // namespace neuroshard
