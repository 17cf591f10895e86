#pragma once

#include <cstdint>
#include <vector>

#include "neuroshard/plan_result.h"
#include "neuroshard/stop_condition.h"
#include "neuroshard/task.h"

namespace neuroshard {

/// Whether rules let `table` be cut to row blocks on all devices, or on those of a node.
[[nodiscard]] bool may_be_in_blocks(const Task& task, const Table& table);

/// Tables whose rules leave no slices of columns on devices, but row blocks; ascending.
[[nodiscard]] std::vector<std::uint32_t> tables_to_cut_by_rows(const Task& task);

/// Tables whose rules leave nothing but replicas; ascending.
[[nodiscard]] std::vector<std::uint32_t> tables_to_replicate(const Task& task);

/// Why no plan of `task` was found, as far as it is known: that such tables have no room, alone or
/// beside the others; or that halves have none, which is proven if `impossible`.
[[nodiscard]] Infeasibility no_plan_found(const Task& task, bool impossible,
                                          const StopCondition& stop);

}  // namespace neuroshard
