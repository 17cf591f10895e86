#pragma once

#include <cstdint>
#include <string>

#include "neuroshard/cost_models.h"
#include "neuroshard/search_options.h"
#include "neuroshard/task.h"

#pragma GCC visibility push(default)
namespace neuroshard {

/// A number that stands for all that decides how good a plan is for `task`. It covers tables in any
/// order and without their names, devices, what the options ask of the search, and the cost models
/// that it uses. It is the same on every machine and in every version; docs/fingerprint.md has the
/// formula. Throws Error if the task is invalid or the models lack its device count.
[[nodiscard]] std::uint64_t fingerprint(const Task& task, const PlannerOptions& options,
                                        const CostModels& models);

/// The form that programs write: 16 hexadecimal digits.
[[nodiscard]] std::string fingerprint_text(std::uint64_t fingerprint);

}  // namespace neuroshard
#pragma GCC visibility pop
