#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/plans/sharding_kinds.h"
#include "search/state/table_ways.h"

namespace neuroshard {

/// A way that a table may be in, and how many devices side by side share the rows of a slice.
struct GroupOfWay {
  Way way;
  int group;
};

/// All slices of a table, `held`, as columns in one of `ways`, in their order; sorts `held`. A
/// table of few rows may be so in several ways: the last of them counts. Nothing: some are other
/// blocks of rows.
[[nodiscard]] std::optional<std::vector<StateSlice>> slices_in_ways(
    const Task& task, std::vector<HeldSlice>& held, std::span<const GroupOfWay> ways);

}  // namespace neuroshard
