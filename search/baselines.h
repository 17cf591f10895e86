#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "neuroshard/plan.h"
#include "neuroshard/search_options.h"
#include "neuroshard/stop_condition.h"

namespace neuroshard {

inline constexpr std::array kGreedyBaselines = {Algorithm::kDimGreedy, Algorithm::kSizeGreedy,
                                                Algorithm::kLookupGreedy,
                                                Algorithm::kSizeLookupGreedy};

/// Places unsplit tables by one of the published baselines, kRandom or kDimGreedy to
/// kSizeLookupGreedy.
/// The greedy ones take tables in descending order of (key, size, index) and put each on the device
/// with the lowest key sum that has memory left (over its speed if keys count lookups); kRandom
/// draws uniformly among the devices that have memory left. Devices that the rules of a table
/// exclude have none for it. Nothing if some table finds no room, or at `stop`; baselines do not
/// split.
[[nodiscard]] std::optional<Plan> place_by_baseline(const Task& task, Algorithm algorithm,
                                                    std::uint64_t seed,
                                                    const StopCondition& stop = {});

}  // namespace neuroshard
