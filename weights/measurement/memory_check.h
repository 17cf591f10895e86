#pragma once

#include <optional>

#include "weights/measurement/measure_plans.h"

namespace neuroshard::ranks {

/// Bytes that device `device` takes in a run: weights, gradients and their sums over the ranks,
/// ids, what the operator sorts. Lookups that the ranks of a process share are not among them.
[[nodiscard]] std::int64_t bytes_needed(const PlanRun& run, int ranks, std::size_t device);

/// Bytes that the lookups of the run's tables take in each process beside those that it has
/// already.
[[nodiscard]] std::int64_t stream_bytes_needed(const PlanRun& run);

/// The first device for which the memory of its machine does not suffice, given the ranks before it
/// on the same machine; the same on all ranks, which call it at once. Nothing if there is room.
[[nodiscard]] std::optional<LackOfMemory> lack_of_memory(const RankGroup& group,
                                                         const PlanRun& run);

/// The same of a device that was refused memory (`refused` on its rank).
[[nodiscard]] std::optional<LackOfMemory> refused_memory(const RankGroup& group, const PlanRun& run,
                                                         bool refused);

}  // namespace neuroshard::ranks
