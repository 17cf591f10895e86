#pragma once

#include <cstdint>

#include "core/base/thread_team.h"
#include "neuroshard/plan.h"

namespace neuroshard::ranks {

/// What each weight of a table is before the first iteration, however the table is cut: a number in
/// [-0.01, 0.01) that looks random.
[[nodiscard]] float initial_weight(int table, std::int64_t row, int column);

/// weights [slice.rows, slice.dim] of these of the table's weights.
void fill_with_initial_weights(ThreadTeam& team, const TableSlice& slice, float* weights);

}  // namespace neuroshard::ranks
