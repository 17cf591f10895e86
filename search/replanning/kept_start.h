#pragma once

#include <vector>

#include "search/layout.h"
#include "search/residency.h"

namespace neuroshard {

/// Plans that leave slices where they are. What is on no device, or finds no room any more where it
/// is, is cut at several widths and placed, the costliest first, on the device with the fewest
/// columns or the least to compute. Empty if none of this fits memory.
[[nodiscard]] std::vector<Layout> plans_that_keep_slices(const PieceCatalog& catalog,
                                                         const Task& task,
                                                         const Residency& residency);

/// `layout` with its devices, if they are all alike, renumbered so that they keep much of what they
/// hold: those that would keep most choose first.
[[nodiscard]] Layout renumbered_to_keep(const PieceCatalog& catalog, const Task& task,
                                        Layout layout, const Residency& residency);

}  // namespace neuroshard
