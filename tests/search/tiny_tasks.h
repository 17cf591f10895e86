#pragma once

#include <cstdint>

#include "neuroshard/task.h"

namespace neuroshard::testing {

/// Up to three devices, and tables of up to seven units of columns, few of which have halves. May
/// be invalid (is_valid()), as drawn groups may contradict rules.
[[nodiscard]] Task tiny_task_of_any_cuts(std::uint64_t seed);
[[nodiscard]] bool is_valid(const Task& task);

/// Whether any plan of a tiny task keeps its rules and fits: by a look at all that have tables in
/// slices of any widths, row-wise or replicated, of code that knows nothing but the rules.
/// `columns_only`: without row blocks and replicas.
[[nodiscard]] bool fits_somehow(const Task& task, bool columns_only);

}  // namespace neuroshard::testing
