#pragma once

#include <optional>
#include <vector>

#include "neuroshard/plan_result.h"
#include "neuroshard/search_options.h"
#include "neuroshard/stop_condition.h"
#include "search/split_state.h"

namespace neuroshard {

/// Why no plan of `task` can exist whatever the search does: all devices together are too small, or
/// a table split as far as it can be exceeds a device. Nothing if neither holds.
[[nodiscard]] std::optional<Infeasibility> proof_of_infeasibility(const Task& task);

/// Halves every slice that exceeds `memory_bytes` until none does. All of them can be halved that
/// far (proof_of_infeasibility has found nothing).
void split_oversized(const PiecePool& pool, std::int64_t memory_bytes, SplitState& state);

/// States that follow from `state` by halving the largest slice again and again: after 1, 2, 3, 4,
/// 6, 8, 12, 16, ... splits, until nothing can be split, there are very many slices or `stop`
/// (null: never) is reached.
[[nodiscard]] std::vector<SplitState> memory_split_ladder(const PiecePool& pool, SplitState state,
                                                          const StopCondition* stop = nullptr);

/// Packs slices by size alone, largest first, each to the device with the most room. The device of
/// each slice, or nothing if one finds no room.
[[nodiscard]] std::optional<std::vector<int>> pack_by_size(const PiecePool& pool,
                                                           const SplitState& state, int devices,
                                                           std::int64_t memory_bytes);

/// Says that packing failed, and which piece found no room in the most finely split `state`.
[[nodiscard]] Infeasibility packing_failure(const Task& task, const PiecePool& pool,
                                            const SplitState& state);

/// Says that the search found no room and was not allowed to split tables for it.
[[nodiscard]] Infeasibility failure_without_memory_splits(const Task& task);

/// Says that the search was ended before it had a plan.
[[nodiscard]] Infeasibility nothing_in_time(const Task& task);

/// Says that a baseline found no room; all but kUniform do not split tables.
[[nodiscard]] Infeasibility baseline_failure(const Task& task, Algorithm algorithm);

}  // namespace neuroshard
