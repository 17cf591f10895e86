#pragma once

#include <cstdint>
#include <optional>

#include "neuroshard/plan_result.h"
#include "neuroshard/search_options.h"
#include "neuroshard/task.h"

namespace neuroshard {

/// A reason of that kind, with the totals of `task`, still without words.
[[nodiscard]] Infeasibility infeasibility_of(const Task& task, Infeasibility::Kind kind);

/// Why no plan of `task` can exist whatever the search does: all devices together are too small, a
/// table split as far as it may be exceeds the devices that may hold it, or rules and groups leave
/// too few devices. Nothing if none of it holds.
[[nodiscard]] std::optional<Infeasibility> proof_of_infeasibility(const Task& task);

/// Says that a table has no slice for any device, even if it is `dim` columns.
[[nodiscard]] Infeasibility slice_too_large(const Task& task, int table_index, int dim);

/// A slice that packing could not do with smaller.
struct LargestSlice {
  int table = -1;
  std::int64_t size_bytes = 0;
};

/// Says that no packing was found, and the largest slice in the finest cut that was tried.
[[nodiscard]] Infeasibility packing_failure(const Task& task, const LargestSlice& largest);
/// The same for the finest cut by halves; `impossible`: it is proven that there is no packing of
/// halves.
[[nodiscard]] Infeasibility packing_failure(const Task& task, bool impossible);

/// Says that the search found no room and was not allowed to split tables for it.
[[nodiscard]] Infeasibility failure_without_memory_splits(const Task& task);

/// Says that the search was ended before it had a plan.
[[nodiscard]] Infeasibility nothing_in_time(const Task& task);

/// Says that a baseline found no room; all but kUniform do not split tables.
[[nodiscard]] Infeasibility baseline_failure(const Task& task, Algorithm algorithm);

}  // namespace neuroshard
