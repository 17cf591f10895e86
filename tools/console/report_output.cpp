#include "tools/console/report_output.h"

#include <CLI/CLI.hpp>

#include "neuroshard/error.h"

namespace neuroshard::tools {

void add_report_option(CLI::App& command, std::string& file) {
  command
      .add_option(
          "--report", file,
          "Also write an HTML page with charts, and which device holds which tables (one task)")
      ->type_name("FILE")
      ->group("Output");
}

void require_one_plan(const std::string& report, bool one) {
  if (report.empty() || one) return;
  throw Error(
      "--report shows one plan; pick a task with --index, and give one number of devices and one "
      "size of memory");
}

ReportOutput::ReportOutput(Console& console, const std::string& path) {
  if (!path.empty()) file_.emplace(console, path);
}

void ReportOutput::write(const PlanDocument& document, const ReportContext& context) {
  if (!file_) return;
  file_->write(html_report(document, context));
  file_->finish();
}

void ReportOutput::write(const NoPlanDocument& document) {
  if (!file_) return;
  file_->write(html_report(document));
  file_->finish();
}

}  // namespace neuroshard::tools
