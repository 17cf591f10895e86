#pragma once

#include "neuroshard/stop_condition.h"
#include "search/starts/tight_packings.h"

namespace neuroshard {

/// As pack_tightly(), for tasks whose devices differ or whose tables have rules: evenly cut tables,
/// ever more finely, by best, worst and first fit, tables that few devices may hold first, or the
/// largest; and if nothing fits, a search through all ways to share the columns of each table out,
/// which ends after a bounded number of steps. `equal_widths`: what equalize_widths() makes of the
/// plans keeps the rules, too. `starts`: BundledTask::task_of_starts() of `task`, whose rules the
/// former keep if it can be, else the groups themselves.
[[nodiscard]] TightPackings pack_under_rules(const PieceCatalog& catalog, const Task& task,
                                             const Task* starts, bool equal_widths,
                                             const StopCondition& stop);

}  // namespace neuroshard
