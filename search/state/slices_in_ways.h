#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/plans/sharding_kinds.h"
#include "neuroshard/task.h"
#include "search/state/ways.h"

namespace neuroshard {

/// All slices of a table, `held`, as columns in one way; sorts `held`. `groups`, [forms]: devices
/// side by side that share the rows of a slice, or 0 where the table may not be so. A table of few
/// rows may be so in several ways: the last of them counts. Nothing: some are other blocks of rows.
[[nodiscard]] std::optional<std::vector<StateSlice>> slices_in_ways(const Task& task,
                                                                    std::vector<HeldSlice>& held,
                                                                    std::span<const int> groups);

}  // namespace neuroshard
