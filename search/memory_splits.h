#pragma once

#include <optional>
#include <vector>

#include "neuroshard/stop_condition.h"
#include "neuroshard/task.h"
#include "search/split_state.h"

namespace neuroshard {

/// Halves every slice that exceeds `memory_bytes` until none does. All of them can be halved that
/// far (proof_by_memory has found nothing), unless their table may not have so many slices.
void split_oversized(const PieceCatalog& catalog, std::int64_t memory_bytes, SplitState& state);

/// States that follow from `state` by halving the largest slice again and again: after 1, 2, 3, 4,
/// 6, 8, 12, 16, ... splits, until nothing can be split, there are very many slices or `stop`
/// (null: never) is reached.
[[nodiscard]] std::vector<SplitState> memory_split_ladder(const PieceCatalog& catalog,
                                                          SplitState state,
                                                          const StopCondition* stop = nullptr);

/// Packs slices by size alone, largest first, each to the device with the most room that may hold
/// it. The device of each slice, or nothing if one finds no room, or at `stop`. `rules` (null:
/// none) and `memory_bytes` are those of a placement problem.
[[nodiscard]] std::optional<std::vector<int>> pack_by_size(const PieceCatalog& catalog,
                                                           const SplitState& state, int devices,
                                                           std::int64_t memory_bytes,
                                                           const PlacementRules* rules = nullptr,
                                                           const StopCondition& stop = {});

}  // namespace neuroshard
