#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "neuroshard/backend.h"
#include "neuroshard/cost_models.h"
#include "neuroshard/plan_request.h"
#include "neuroshard/plan_result.h"
#include "neuroshard/search_options.h"
#include "neuroshard/task.h"

namespace neuroshard {

/// Plans a task whose tables are cut by columns alone; nothing if the cost models do not serve its
/// device count.
using PlanByColumns = std::function<std::optional<PlanResult>(const Task&, const PlanRequest&)>;

/// PlannerOptions::cuts where it is not given, with these models.
[[nodiscard]] Cuts default_cuts(const CostModels& models);

/// `options` with a preset of cuts replaced by the options that it stands for.
[[nodiscard]] PlannerOptions without_presets(PlannerOptions options);

/// True if columns alone found no plan for want of room, which cutting by rows may make.
[[nodiscard]] bool may_need_row_blocks(const PlanResult& by_columns);

/// A plan for `task`, for which `by_columns` has none. Some tables are cut into equal blocks of
/// rows as TorchRec's runtime cuts them: row-wise, a block on each device; or, if nodes divide the
/// devices, table-row-wise and grid, each slice of columns in blocks on the devices of a node. The
/// others are planned by columns in the memory that is left. Tries more and more tables,
/// those first whose narrowest slices are largest, but none whose rules forbid it, and takes the
/// cheapest plan, by simulate() on `backend`. Returns `by_columns` if that finds no plan either.
/// Counts and times include its own.
[[nodiscard]] PlanResult plan_with_row_blocks(const Backend& backend, const Task& task,
                                              const PlanRequest& request, PlanResult by_columns,
                                              const PlanByColumns& plan);

}  // namespace neuroshard
