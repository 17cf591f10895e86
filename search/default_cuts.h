#pragma once

#include "neuroshard/cost_models.h"
#include "neuroshard/search_options.h"

namespace neuroshard {

/// What PlannerOptions::cuts stands for with these models if it is not given.
[[nodiscard]] Cuts default_cuts(const CostModels& models);

/// The same options with what a preset of cuts stands for in its place.
[[nodiscard]] PlannerOptions without_presets(PlannerOptions options);

}  // namespace neuroshard
