#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "neuroshard/backend.h"
#include "neuroshard/replan.h"
#include "search/parts/partial_task.h"

namespace neuroshard {

/// A task with a running plan, apart from the tables that the plan replicates or cuts by rows, on
/// all devices or on those of nodes, and that stay so. Tables that it cuts to columns that are no
/// halves are as many tables here: each of its slices is one, which re-planning can move and halve.
/// Where rules of the new task find them too narrow or too many, neighbours are joined: those on
/// one device, then the narrowest ones.
struct KeptTables {
  PartialTask rest;     ///< The others, in the memory that is left.
  RunningPlan running;  ///< Of them.
  /// Of each table of `rest`: the one of `running` that it is; nothing: it is new.
  std::vector<std::optional<std::size_t>> running_tables;
  Plan fixed;  ///< Replicas and row blocks of the new task.
  std::vector<TableMove> moves;
  std::int64_t moved_bytes = 0;  ///< All of `moves`; they must be moved.
};

/// Nothing if the running plan, which is valid, has no such tables of `task`. Row-wise tables are
/// cut to equal blocks on all devices of the new task, those on nodes stay on theirs or, if a
/// device of it is lost, go to another node; replicas go to devices that have been added. Throws
/// Error if lost devices are none, or if those tables leave no memory to the others.
[[nodiscard]] std::optional<KeptTables> keep_tables(const Backend& backend, const Task& task,
                                                    const RunningPlan& running);

/// Throws Error unless rules let all tables of `task` but those of `fixed` be in slices of columns:
/// re-planning makes no others.
void require_columns(const Task& task, const Plan& fixed);

/// What `of_rest` is of the whole task.
[[nodiscard]] ReplanResult with_kept_tables(const Backend& backend, const Task& task,
                                            const KeptTables& kept, ReplanResult of_rest);

}  // namespace neuroshard
