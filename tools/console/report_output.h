#pragma once

#include <optional>
#include <string>

#include "neuroshard/plan_file.h"
#include "tools/console/result_output.h"
#include "tools/plan_pages/html_report.h"

namespace CLI {
class App;
}

namespace neuroshard::tools {

/// --report.
void add_report_option(CLI::App& command, std::string& file);

/// --beside.
void add_beside_option(CLI::App& command, std::string& file);

/// The plan of `task` in `file`, to be shown beside that of a report; none if `file` is empty.
/// Throws Error if the file has not one plan.
[[nodiscard]] std::optional<Plan> plan_beside(const std::string& file, const Task& task);

/// Throws Error if there is to be a `report` of what is not `one` plan, or something `beside` it
/// without a report.
void require_one_plan(const std::string& report, const std::string& beside, bool one);

/// Where the HTML report of a plan goes, if it is asked for. Made before the work starts, like
/// other outputs.
class ReportOutput {
 public:
  /// An empty `path`: nowhere.
  ReportOutput(Console& console, const std::string& path);

  /// Whether there is such a file.
  [[nodiscard]] bool wanted() const { return file_.has_value(); }

  /// Makes the file appear. Call once, last.
  void write(const PlanDocument& document, const ReportContext& context);
  void write(const NoPlanDocument& document);

 private:
  std::optional<ResultOutput> file_;
};

}  // namespace neuroshard::tools
