#pragma once

#include <optional>

#include "neuroshard/plan_result.h"
#include "neuroshard/search_options.h"
#include "neuroshard/stop_condition.h"
#include "neuroshard/task.h"

namespace neuroshard {

/// A reason of that kind, with the totals of `task`, still without words.
[[nodiscard]] Infeasibility infeasibility_of(const Task& task, Infeasibility::Kind kind);

/// Why no plan of `task` can exist whatever the search does: all devices together are too small, or
/// a table split as far as it may exceeds the devices that may hold it. Nothing if neither holds.
/// Takes no longer than reading the task does, so that searches may begin with it.
[[nodiscard]] std::optional<Infeasibility> proof_by_memory(const Task& task);

/// proof_by_memory(), or what rules and groups leave (rule_proofs.h). For after a search without a
/// plan, since it takes longer; it ends without a proof after a bounded number of steps, or at
/// `stop`.
[[nodiscard]] std::optional<Infeasibility> proof_of_infeasibility(const Task& task,
                                                                  const StopCondition& stop);

/// Columns of the widest slice if `table` has as many as its rules allow, all about equally wide:
/// whatever has no room for that has none for the table, however it is cut by columns.
[[nodiscard]] int narrowest_columns(const Table& table);

/// Whether halves of `table` can take the place of slices of any widths that rules allow: it is not
/// cut, or to single units of columns, which then take as much as wider slices.
[[nodiscard]] bool halves_are_all(const Table& table);

/// Says that a table has no slice for any device, even if it is `dim` columns.
[[nodiscard]] Infeasibility slice_too_large(const Task& task, int table_index, int dim);

/// Says that no packing was found, and the largest slice in the finest cut by halves; `impossible`:
/// it is proven that there is no packing of halves.
[[nodiscard]] Infeasibility packing_failure(const Task& task, bool impossible);

/// Says that the search found no room and was not allowed to split tables for it.
[[nodiscard]] Infeasibility failure_without_memory_splits(const Task& task);

/// Says that the search was ended before it had a plan.
[[nodiscard]] Infeasibility nothing_in_time(const Task& task);

/// Says that a baseline found no room; all but kUniform and kPublished do not split tables.
[[nodiscard]] Infeasibility baseline_failure(const Task& task, Algorithm algorithm);

}  // namespace neuroshard
