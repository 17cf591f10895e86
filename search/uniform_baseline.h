#pragma once

#include <optional>

#include "neuroshard/backend.h"
#include "neuroshard/plan.h"
#include "neuroshard/task.h"

namespace neuroshard {

/// Every table halved until it has at most `width` columns, or an odd multiple of 4; the slices,
/// largest dim * pooling factor first, each on the device with the lowest dim sum that has memory
/// left (ties: the lowest index). Nothing if some slice finds no room.
[[nodiscard]] std::optional<Plan> plan_of_uniform_width(const Task& task, int width);

/// Algorithm::kUniform: the cheapest by simulate() of the plans of widths 4, 8, ..., 256, the wider
/// of equals. Its cost does not depend on the order of the tables. Nothing if no width fits.
[[nodiscard]] std::optional<Plan> cheapest_uniform_plan(const Backend& backend, const Task& task);

}  // namespace neuroshard
