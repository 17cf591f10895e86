#pragma once

#include "search/state/plan_state.h"

namespace neuroshard {

/// Whether an edit, whose slices are of ways that their tables may have, keeps what rules and
/// groups say of devices, widths and numbers of slices.
[[nodiscard]] bool keeps_limits(const PlanState& state, const Edit& edit);

}  // namespace neuroshard
