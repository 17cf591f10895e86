#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "neuroshard/plan_check.h"

namespace neuroshard {

/// Halves slice `index` as step `step` of a plan's column splits. Or leaves `slices` as they are
/// and says why not.
[[nodiscard]] std::optional<PlanProblem> halve(std::vector<TableSlice>& slices, std::size_t step,
                                               int index);

}  // namespace neuroshard
