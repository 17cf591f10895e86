#pragma once

#include <vector>

#include "core/base/random.h"
#include "neuroshard/plan.h"

namespace neuroshard::testing {

/// Slices of a table, and the device of each; none: it is replicated.
struct PlacedTable {
  std::vector<TableSlice> slices;
  std::vector<int> devices;
};

/// Adds a table to a plan.
void place(const PlacedTable& placed, int table, Plan& plan);

/// All ways to have table `table` of `task` whole, in slices of columns, in row blocks of equal
/// size, in grids of these, or replicated, on any devices, at most one slice on each; or as two row
/// blocks on one.
[[nodiscard]] std::vector<PlacedTable> all_ways(const Task& task, int table);

/// One of all ways that plans may have a table in, with slices of any rows and columns.
[[nodiscard]] PlacedTable drawn_way(const Task& task, int table, Random& random);

}  // namespace neuroshard::testing
