#pragma once

#include <string>

#include "neuroshard/plan_file.h"

namespace neuroshard::tools {

/// What follows the page of a plan that is near to a running one: what has to be moved, by device.
[[nodiscard]] std::string moves_page(const PlanDocument& document);

}  // namespace neuroshard::tools
