#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "neuroshard/backend.h"
#include "neuroshard/task.h"
#include "search/piece_catalog.h"

namespace neuroshard {

/// Rules that a placement of `task` heeds beside the memory of the largest device. Nothing if all
/// devices are equal and no table has a rule on devices: then a placement problem has none either.
[[nodiscard]] std::optional<PlacementRules> placement_rules(const PieceCatalog& catalog,
                                                            const Task& task);

/// [tables]: memory of the largest device that may hold slices of the table.
[[nodiscard]] std::vector<std::int64_t> largest_rooms_bytes(const Task& task);

}  // namespace neuroshard
