#pragma once

#include <optional>
#include <vector>

#include "search/layout.h"
#include "search/residency.h"

namespace neuroshard {

/// `task`, none of whose tables is a bundle, with rules on devices in the place of its groups, so
/// that much stays where it is: tables that are kept together get the device that holds most of
/// them and has room for all, tables that are kept apart those of their devices that they need not
/// leave to others. Nothing if that leaves a table without a device.
[[nodiscard]] std::optional<Task> with_devices_that_hold_groups(const PieceCatalog& catalog,
                                                                const Task& task,
                                                                const Residency& residency);

/// Plans that leave slices where they are. What is on no device, or finds no room any more where it
/// is, is cut at several widths and placed, the costliest first, on the device with the fewest
/// columns or the least to compute. Tables that only one device may hold are whole there. Empty if
/// none of this fits memory. `task` has no groups.
[[nodiscard]] std::vector<Layout> plans_that_keep_slices(const PieceCatalog& catalog,
                                                         const Task& task,
                                                         const Residency& residency);

/// `layout` with its devices, if they are all alike, renumbered so that they keep much of what they
/// hold: those that would keep most choose first.
[[nodiscard]] Layout renumbered_to_keep(const PieceCatalog& catalog, const Task& task,
                                        Layout layout, const Residency& residency);

}  // namespace neuroshard
