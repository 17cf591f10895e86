#pragma once

#include <string>

#include "neuroshard/rule_costs.h"

namespace neuroshard::tools {

/// Page of what a plan of `task` costs without each of its rules, the dearest rules first.
[[nodiscard]] std::string rules_page(const Task& task, const RuleCosts& costs);

}  // namespace neuroshard::tools
