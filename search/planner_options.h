#pragma once

#include <string>

#include "neuroshard/cost_models.h"
#include "neuroshard/search_options.h"

namespace neuroshard {

/// Planners with these models take these cuts if PlannerOptions::cuts is not given.
[[nodiscard]] Cuts default_cuts(const CostModels& models);

/// Returns `options` with each preset of cuts replaced by the options that it stands for.
[[nodiscard]] PlannerOptions without_presets(PlannerOptions options);

/// The backend that PlannerOptions::backend means: "auto" is the environment's NEUROSHARD_BACKEND
/// where that is set and not empty. Throws Error if there is no backend of the name.
[[nodiscard]] std::string chosen_backend(const std::string& option);

/// Throws Error if `value` is not within these bounds.
void require_between(int value, int low, int high, const char* option);

/// Returns `options` without presets, with the backend that is chosen. Throws Error on any that is
/// wrong.
[[nodiscard]] PlannerOptions checked_options(PlannerOptions options);

}  // namespace neuroshard
