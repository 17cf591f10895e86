#pragma once

#include "neuroshard/backend.h"
#include "neuroshard/stop_condition.h"
#include "search/layout.h"

namespace neuroshard {

/// Joins halves of tables again wherever the plan then costs no more than `most_ms`: of plans that
/// cost about the same, the one with fewer slices is easier to live with. No device exceeds its
/// memory that did not before. `equal_widths`: as in WorkingPlan.
[[nodiscard]] Layout tidied(const Backend& backend, const PieceCatalog& catalog, const Task& task,
                            const Layout& layout, double most_ms, const StopCondition& stop,
                            bool equal_widths = false);

}  // namespace neuroshard
