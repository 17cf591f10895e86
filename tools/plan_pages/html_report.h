#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "neuroshard/plan_file.h"
#include "tools/plan_pages/bound_text.h"
#include "tools/plan_pages/compared_plans.h"

namespace neuroshard::tools {

/// Facts about a plan that a report shows and its document does not have.
struct ReportContext {
  std::optional<PlanBound> bound{};
  std::optional<ComparedPlan> running{};  ///< Else the document's alternatives are compared.
};

/// One HTML file that needs nothing but a browser. On its first screen are what the plan costs and
/// how near that is to the lower bound, work and waiting by device and node, the tables that cost
/// most, memory, replicas, and the plan beside another; below it why the plan may be doubted,
/// charts and a table of all devices, and every slice, to be searched and sorted. Names in it are
/// text, whatever they hold. Without scripts it still has all but charts and slices.
[[nodiscard]] std::string html_report(const PlanDocument& document,
                                      const ReportContext& context = {});
/// The same of a task that has no plan: the reason.
[[nodiscard]] std::string html_report(const NoPlanDocument& document);

/// `report` as a part of another page, such as a notebook: in a frame that shares neither styles
/// nor scripts with it. `title` is what screen readers call it.
[[nodiscard]] std::string html_frame(std::string_view report, std::string_view title);

}  // namespace neuroshard::tools
