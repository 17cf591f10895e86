#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "neuroshard/backend.h"
#include "neuroshard/plan.h"
#include "neuroshard/plan_result.h"
#include "neuroshard/search_options.h"
#include "neuroshard/stop_condition.h"
#include "neuroshard/task.h"

namespace neuroshard {

inline constexpr std::array kGreedyBaselines = {Algorithm::kDimGreedy, Algorithm::kSizeGreedy,
                                                Algorithm::kLookupGreedy,
                                                Algorithm::kSizeLookupGreedy};

/// Places unsplit tables by one of the published baselines, kRandom, kDimGreedy to
/// kSizeLookupGreedy, kRecshard or kFlexshard.
/// The greedy ones take tables in descending order of (key, size, index) and put each on the device
/// with the lowest key sum that has memory left (over its speed if keys count lookups); kRandom
/// draws uniformly among the devices that have memory left. Devices that the rules of a table
/// exclude have none for it. Nothing if some table finds no room, or at `stop`. None but kFlexshard
/// splits, and only what flexshard_cuts().
[[nodiscard]] std::optional<Plan> place_by_baseline(const Task& task, Algorithm algorithm,
                                                    std::uint64_t seed,
                                                    const StopCondition& stop = {});

/// Halves every table until its slices have at most `width` columns, or an odd multiple of 4, or as
/// few as its rules allow. Slices are placed largest dim * pooling factor first. Each goes to the
/// device with the lowest dim sum that has memory left, and that the rules allow (ties: the lowest
/// index). For tasks with groups it is the plan of the bundled task. Returns nothing if some slice
/// finds no room, if there are more than a million, or if `stop` is reached.
[[nodiscard]] std::optional<Plan> plan_of_uniform_width(const Task& task, int width,
                                                        const StopCondition& stop = {});

/// Algorithm::kUniform: the cheapest by simulate() of the plans of widths 4, 8, ..., 256, the wider
/// of equals. Its cost does not depend on the order of the tables. Nothing if no width fits before
/// `stop`.
[[nodiscard]] std::optional<Plan> cheapest_uniform_plan(const Backend& backend, const Task& task,
                                                        const StopCondition& stop = {});

/// Prices the plan of `result`, found by `algorithm`, or says in its place that there is none if it
/// does not fit: hosts have copies of rows, which these algorithms do not count.
void price_if_it_fits(const Backend& backend, const Task& task, Algorithm algorithm,
                      PlanResult& result);

}  // namespace neuroshard
