#pragma once

#include "neuroshard/cost_models.h"
#include "neuroshard/search_options.h"

namespace neuroshard {

/// Planners with these models take these cuts if PlannerOptions::cuts is not given.
[[nodiscard]] Cuts default_cuts(const CostModels& models);

/// Returns `options` with each preset of cuts replaced by the options that it stands for.
[[nodiscard]] PlannerOptions without_presets(PlannerOptions options);

}  // namespace neuroshard
