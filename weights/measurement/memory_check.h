#pragma once

#include <optional>

#include "weights/measurement/measure_plans.h"

namespace neuroshard::ranks {

/// Bytes that device `device` takes in a run: weights, gradients, ids, what the operator sorts.
[[nodiscard]] std::int64_t bytes_needed(const PlanRun& run, int ranks, std::size_t device);

/// The first device for which the memory of its machine does not suffice, given the ranks before it
/// on the same machine; the same on all ranks, which call it at once. Nothing if there is room.
[[nodiscard]] std::optional<LackOfMemory> lack_of_memory(const RankGroup& group,
                                                         const PlanRun& run);

/// The same of a device that was refused memory (`refused` on its rank).
[[nodiscard]] std::optional<LackOfMemory> refused_memory(const RankGroup& group, const PlanRun& run,
                                                         bool refused);

}  // namespace neuroshard::ranks
