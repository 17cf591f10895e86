#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "neuroshard/backend.h"
#include "neuroshard/plan_request.h"
#include "neuroshard/plan_result.h"
#include "neuroshard/search_options.h"
#include "neuroshard/task.h"
#include "search/parts/row_blocks.h"

namespace neuroshard {

/// Plans what is left of a task.
using PlanRest = std::function<PlanResult(const Task&, const PlanRequest&)>;

/// Whether rules let the rows of `table` be cut on the devices of `task`, as the search does: over
/// all of them or over nodes that divide them.
[[nodiscard]] bool may_be_in_blocks(const Task& task, const Table& table);

/// Tables whose rules leave nothing but row blocks, or those and replicas; ascending.
[[nodiscard]] std::vector<std::uint32_t> tables_to_cut_by_rows(const Task& task);

/// Tables whose rules leave nothing but replicas on the devices of `task`; ascending.
[[nodiscard]] std::vector<std::uint32_t> tables_to_replicate(const Task& task);

/// A plan for `task`, some tables of which have to be cut by rows: over all devices where their
/// rules allow both that and nodes, or else all over nodes, whichever is cheaper by simulate() on
/// `backend`. `plan_columns` plans the slices of columns on nodes, `plan_rest` all other tables in
/// the memory that is left. Counts and times include theirs.
[[nodiscard]] PlanResult plan_with_required_blocks(const Backend& backend, const Task& task,
                                                   const PlanRequest& request,
                                                   const PlanByColumns& plan_columns,
                                                   const PlanRest& plan_rest);

}  // namespace neuroshard
