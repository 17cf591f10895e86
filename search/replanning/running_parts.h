#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "neuroshard/plan.h"
#include "search/parts/partial_task.h"
#include "search/replanning/running_holders.h"

namespace neuroshard {

// Tables that a running plan cuts to columns that are no halves of halves, as a table for each
// slice.

/// Widths of the parts of tables, from the first column on.
using PartWidths = std::map<std::uint32_t, std::vector<int>>;

/// Widths of the parts that table `t` of `task` is cut to, if it runs in `slices`, of columns or
/// rows. Where rules find slices too narrow or too many, neighbours are joined: those on one
/// device, then the narrowest ones. One or none: it stays one table.
[[nodiscard]] std::vector<int> part_widths(const Task& task, std::uint32_t t,
                                           std::span<const RunningSlice> slices,
                                           std::int64_t running_rows);

/// `part` with these tables, of the whole task, cut to parts.
[[nodiscard]] PartialTask with_parts(PartialTask part, const PartWidths& widths);

/// The table of `part` that is table `whole` of the whole task, or the part of it that has this
/// column.
[[nodiscard]] std::size_t table_at(const PartialTask& part, std::size_t whole, int column);

/// `plan`, of tables some of which are parts in `rest`, with neighbouring slices of these on one
/// device as one.
[[nodiscard]] Plan with_neighbours_joined(const Plan& plan, const PartialTask& rest);

/// Whether a group of the task says that about the table.
[[nodiscard]] bool is_in_group(const Task& task, std::uint32_t table, Keep keep);

}  // namespace neuroshard
