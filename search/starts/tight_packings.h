#pragma once

#include <vector>

#include "neuroshard/stop_condition.h"
#include "search/layout.h"

namespace neuroshard {

/// Plans of a task whose memory is too tight for any placement that looks at costs.
struct TightPackings {
  std::vector<Layout> layouts;
  /// Proven: no plan exists, however tables are halved.
  bool impossible = false;
};

/// For equal devices, and tables without rules on them. Packs by size alone: tables as they are,
/// then halved ever more finely, each time by first, best and worst fit and by search_packing().
/// The first few packings found, those of coarser cuts first, with halves that meet on a device
/// joined. `stop` ends it early.
[[nodiscard]] TightPackings pack_tightly(const PieceCatalog& catalog, const Task& task,
                                         const StopCondition& stop);

}  // namespace neuroshard
