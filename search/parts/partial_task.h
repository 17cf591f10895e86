#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "neuroshard/plan.h"
#include "neuroshard/task.h"
#include "search/parts/device_loads.h"

namespace neuroshard {

/// Some of the tables of a task, for the same devices or others.
struct PartialTask {
  Task task;
  /// Indices in the whole task, ascending; a table may be in several parts of its columns.
  std::vector<std::uint32_t> tables;
  std::vector<int> first_columns{};  ///< Of each such part; empty: tables have all columns.
};

/// A table in slices of columns of these widths, side by side.
struct TableWidths {
  std::uint32_t table = 0;
  std::vector<int> dims;

  friend bool operator==(const TableWidths&, const TableWidths&) = default;
};

/// The tables of `whole` that `taken` does not list.
[[nodiscard]] PartialTask task_without(const Task& whole, const std::vector<std::uint32_t>& taken);

/// The same tables in the room that `loads` of the others leave on the devices; there is room for
/// those. `loads` become reserved memory of devices that are to stay equal, and base loads of
/// devices that are not. `taken` is ascending.
[[nodiscard]] PartialTask task_without(const Task& whole, const std::vector<std::uint32_t>& taken,
                                       const DeviceLoads& loads);

/// The tables of the whole task that `part` has in several parts.
[[nodiscard]] std::set<int> tables_in_parts(const PartialTask& part);

/// `groups` of tables that are cut to parts: table `t` becomes the tables `first_parts[t]` to
/// `first_parts[t + 1]` - 1. Parts of one table are not kept apart from each other; no table is cut
/// that groups keep together with others.
[[nodiscard]] std::vector<TableGroup> groups_of_parts(const std::vector<TableGroup>& groups,
                                                      std::span<const int> first_parts);

/// The slices that `whole`, a plan for the whole task on the same devices, has of `part`. Nothing
/// if they are not the tables of `part`, one slice each.
[[nodiscard]] std::optional<Plan> part_of(const PartialTask& part, const Plan& whole);

/// Adds the slices of `part`, a plan for a part of the task on the same devices, to `plan`.
void add_part(Plan& plan, const PartialTask& part, const Plan& of_part);

}  // namespace neuroshard
