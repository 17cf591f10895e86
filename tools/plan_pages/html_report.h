#pragma once

#include <string>
#include <string_view>

#include "neuroshard/plan_file.h"

namespace neuroshard::tools {

/// One HTML file that needs nothing but a browser: what the plan costs and why it may be doubted,
/// charts and a table of all devices, and every slice, to be searched and sorted. Names in it are
/// text, whatever they hold. Without scripts it still has all but charts and slices.
[[nodiscard]] std::string html_report(const PlanDocument& document);
/// Report on a task that has no plan: the reason.
[[nodiscard]] std::string html_report(const NoPlanDocument& document);

/// `report` as a part of another page, such as a notebook: in a frame that shares neither styles
/// nor scripts with it. `title` is what screen readers call it.
[[nodiscard]] std::string html_frame(std::string_view report, std::string_view title);

}  // namespace neuroshard::tools
