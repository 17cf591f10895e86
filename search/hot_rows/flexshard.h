#pragma once

#include <utility>

#include "neuroshard/backend.h"
#include "neuroshard/plan.h"
#include "neuroshard/task.h"
#include "search/hot_rows/popular_tables.h"

namespace neuroshard {

/// Algorithm::kFlexshard, after FlexShard (Sethi et al., 2023, arXiv 2301.02959): tables that are
/// not pooled are cut by rows over all devices, and their popular rows are on each.

/// Whether rules let it cut a table so.
[[nodiscard]] bool flexshard_cuts(const Task& task, const Table& table);

/// `plan` of place_by_baseline(), with the rows of these tables on every device that each device's
/// part of a batch looks up at least once on average: their gradients are then sent once a device,
/// which is no more than their lookups are. Where `task` says hot_rows_by_node, each node holds
/// those once that its part looks up as often. Fewer where memory is missing. And its cost.
[[nodiscard]] std::pair<Plan, PlanCost> with_tiers(const Backend& backend, const Task& task,
                                                   const PopularTables& tables, const Plan& plan);

}  // namespace neuroshard
