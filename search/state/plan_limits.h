#pragma once

#include "search/state/plan_state.h"

namespace neuroshard {

/// Whether an edit, whose slices are of ways that their tables may have, keeps what rules and
/// groups say of devices, widths and numbers of slices, and what may be moved.
[[nodiscard]] bool keeps_limits(const PlanState& state, const Edit& edit);

/// Whether `slice`, of kDevice, comes to a device that holds anything of a table that is to be
/// apart from it, after the other changes of `edit`. Such tables have slices on devices alone.
[[nodiscard]] bool meets_apart(const PlanState& state, const Edit& edit, const StateSlice& slice);

}  // namespace neuroshard
