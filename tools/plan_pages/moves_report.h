#pragma once

#include <string>
#include <vector>

#include "neuroshard/plan_file.h"
#include "tools/plan_pages/plan_report.h"

namespace neuroshard::tools {

/// Page that follows that of a plan near to a running one: what has to be moved, by device.
[[nodiscard]] std::string moves_page(const PlanDocument& document);

/// Facts on what the running plan costs, and how much is moved. `document.moves` is there.
[[nodiscard]] std::vector<PlanFact> move_facts(const PlanDocument& document);

}  // namespace neuroshard::tools
