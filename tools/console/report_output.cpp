#include "tools/console/report_output.h"

#include <CLI/CLI.hpp>

#include "neuroshard/error.h"
#include "tools/command_line/options.h"

namespace neuroshard::tools {

void add_report_option(CLI::App& command, std::string& file) {
  command_line::OptionGroup(command, "Output")
      .add("--report", "FILE", file,
           "Also write an HTML page with charts, and which device holds which tables (one task)");
}

void add_beside_option(CLI::App& command, std::string& file) {
  command_line::OptionGroup(command, "Output")
      .add("--beside", "FILE", file,
           "Another plan of the task, such as the running one, which --report shows beside");
}

std::optional<Plan> plan_beside(const std::string& file, const Task& task) {
  if (file.empty()) return std::nullopt;
  const std::vector<PlanRecord> records = load_plans(file);
  if (records.size() != 1) {
    throw Error("--beside: " + file + " has " + std::to_string(records.size()) +
                " plans; give a file of one");
  }
  return plan_for(records[0], task);
}

void require_one_plan(const std::string& report, const std::string& beside, bool one) {
  if (!beside.empty() && report.empty()) {
    throw Error("--beside is shown on the page of --report; give both");
  }
  if (report.empty() || one) return;
  throw Error(
      "--report shows one plan; pick a task with --index, and give one number of devices and one "
      "size of memory");
}

ReportOutput::ReportOutput(Console& console, const std::string& path)
    : file_(optional_output(console, path)) {}

void ReportOutput::write(const PlanDocument& document, const ReportContext& context) {
  if (file_) file_->finish(html_report(document, context));
}

void ReportOutput::write(const NoPlanDocument& document) {
  if (file_) file_->finish(html_report(document));
}

}  // namespace neuroshard::tools
