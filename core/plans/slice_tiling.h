#pragma once

#include <string>
#include <vector>

#include "neuroshard/plan_check.h"

namespace neuroshard {

/// True if `task` has a table of this index.
[[nodiscard]] inline bool has_table(const Task& task, int table) {
  return table >= 0 && static_cast<std::size_t>(table) < task.tables.size();
}

/// True if `slice` is of a table of `task`, inside it, and not empty.
[[nodiscard]] bool lies_in_its_table(const TableSlice& slice, const Task& task);

/// Adds the problems that keep the slices of `plan` from covering each row and column of each table
/// of `task` once. First come replicas of tables that are none, then slices that are impossible by
/// themselves, in order. By table follow slices that overlap others, what is in none, and slices of
/// replicated tables. At most 1,000 overlaps of a table are listed. Takes n log n steps.
void add_tiling_problems(const Plan& plan, const Task& task, std::vector<PlanProblem>& problems);

/// "columns 0 to 63 of table 3", and with `all_rows` of the table not equal to its own, its rows.
[[nodiscard]] std::string described(const TableSlice& slice, std::int64_t all_rows);

}  // namespace neuroshard
