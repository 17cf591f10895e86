#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "neuroshard/backend.h"
#include "neuroshard/replan.h"
#include "search/parts/partial_task.h"

namespace neuroshard {

/// A task with a running plan, apart from the tables that the plan replicates and that stay so.
struct KeptReplicas {
  PartialTask rest;     ///< The others, in the memory that is left.
  RunningPlan running;  ///< Of them.
  Plan replicas;        ///< Of the new task: no slices yet.
  /// Devices that have been added get all of a table, the others its new rows.
  std::vector<TableMove> moves;
  std::int64_t moved_bytes = 0;  ///< All of `moves`; they must be moved.
};

/// Nothing if the running plan, which is valid, replicates none of the tables of `task`. Throws
/// Error if those that it does leave no memory to the others.
[[nodiscard]] std::optional<KeptReplicas> keep_replicas(const Task& task,
                                                        const RunningPlan& running);

/// Throws Error unless rules let all tables of `task` but `replicas`, ascending, be in slices of
/// columns: re-planning knows nothing else.
void require_columns(const Task& task, const std::vector<int>& replicas);

/// What `of_rest` is of the whole task.
[[nodiscard]] ReplanResult with_kept_replicas(const Backend& backend, const Task& task,
                                              const KeptReplicas& kept, ReplanResult of_rest);

}  // namespace neuroshard
