#pragma once

#include <optional>

#include "neuroshard/plan_result.h"
#include "neuroshard/search_options.h"
#include "neuroshard/stop_condition.h"
#include "neuroshard/task.h"

namespace neuroshard {

/// Means that a planner has beside keeping tables in slices of columns.
struct ShardingMeans {
  Algorithm algorithm = Algorithm::kNeuroshard;
  bool row_blocks = false;
  bool parts = false;  ///< Row blocks on parts of nodes, too.
  bool replicas = false;
  bool nodes = false;  ///< Its cost models serve as many devices as there are nodes.
};

/// Why a table of `task` has no plan by these means: its rules leave no kind of sharding that they
/// can do. Nothing if there is no such table.
[[nodiscard]] std::optional<Infeasibility> kinds_out_of_reach(const Task& task,
                                                              const ShardingMeans& means);

/// Weakens `why`, a reason why halving columns led to no plan of `task`, to what holds if tables
/// may be in slices of any widths, and sharded by `means` besides. The result is what is proven for
/// all of that, or that no way was found.
[[nodiscard]] Infeasibility as_far_as_proven(const Task& task, const ShardingMeans& means,
                                             Infeasibility why);

/// Why no plan of `task` was found, as far as it is known before `stop`: that tables which must be
/// cut by rows or replicated have no room, alone or beside the others; or that halves have none,
/// which is proven if `impossible`.
[[nodiscard]] Infeasibility no_plan_found(const Task& task, bool impossible,
                                          const StopCondition& stop);

}  // namespace neuroshard
