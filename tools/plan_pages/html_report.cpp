#include "tools/plan_pages/html_report.h"

#include <map>
#include <utility>
#include <vector>

#include "core/base/message_text.h"
#include "neuroshard/version.h"
#include "neuroshard/waiting.h"
#include "tools/charts/svg.h"
#include "tools/plan_pages/first_screen.h"
#include "tools/plan_pages/moves_report.h"
#include "tools/plan_pages/plan_report.h"
#include "tools/plan_pages/report_data.h"
#include "tools/plan_pages/report_template.h"
#include "tools/plan_pages/table_work.h"

namespace neuroshard::tools {
namespace {

using charts::xml_escaped;

/// The template with `values` in the place of their names in {{braces}}. A value that is put in is
/// not looked at again.
std::string filled(const std::map<std::string_view, std::string>& values) {
  std::string_view rest(reinterpret_cast<const char*>(kReportTemplate), kReportTemplateSize);
  std::string text;
  for (std::size_t open = rest.find("{{"); open != std::string_view::npos; open = rest.find("{{")) {
    const std::size_t close = rest.find("}}", open);
    text.append(rest.substr(0, open)).append(values.at(rest.substr(open + 2, close - open - 2)));
    rest.remove_prefix(close + 2);
  }
  return text.append(rest);
}

std::string warning_list(const std::vector<std::string>& warnings) {
  if (warnings.empty()) return {};
  std::string html = "<ul class=\"warnings\" aria-label=\"Warnings\">\n";
  for (const std::string& warning : warnings) html += "<li>" + xml_escaped(warning) + "</li>\n";
  return html + "</ul>\n";
}

std::string fact_list(const std::vector<PlanFact>& facts) {
  std::string html = "<dl class=\"facts\">\n";
  std::string_view last;
  for (const auto& [label, text] : facts) {
    if (label != last) html += "<dt>" + label + "</dt>";
    html += "<dd>" + xml_escaped(text) + "</dd>\n";
    last = label;
  }
  return html + "</dl>\n";
}

/// The plan that runs, or some that the search came across.
std::vector<ComparedPlan> others_of(const PlanDocument& document, const ReportContext& context) {
  constexpr std::size_t kMostAlternatives = 3;
  if (context.running) return {*context.running};
  std::vector<ComparedPlan> others;
  for (const CostedPlan& other : document.alternatives) {
    if (others.size() == kMostAlternatives) break;
    const std::string number = std::to_string(others.size() + 1);
    others.push_back({"alternative " + number, document.task, other.plan, other.cost});
  }
  return others;
}

/// The chart of more devices takes the whole width, and what is below it one column more.
constexpr std::size_t kFewDevices = 256;

std::string overview(const PlanDocument& document, const ReportContext& context) {
  const std::vector<double> table_ms = table_work_ms(document.task, document.plan, document.cost);
  const bool many = document.cost.devices.size() > kFewDevices;
  const std::string beside = comparison_panel(document, others_of(document, context), table_ms);
  std::string side = node_panel(document) + tier_panel(document) + replica_panel(document);
  if (!many) side += beside;
  return figure_list(document, context.bound) + "<div class=\"overview" + (many ? " many" : "") +
         (beside.empty() ? "" : " beside") +
         "\">\n<section class=\"panel\" id=\"work\" aria-label=\"Work and waiting by device\" "
         "hidden></section>\n" +
         table_panel(document, table_ms) + "<div class=\"side\">\n" + side + "</div>\n" +
         (many ? beside : "") + "</div>\n";
}

/// The figures that the script sorts and draws are in the page's data, in the order of these
/// columns.
std::string device_section(const PlanCost& cost) {
  std::string html =
      "<section id=\"devices\" aria-labelledby=\"devices-title\">\n"
      "<h2 id=\"devices-title\">Devices</h2>\n"
      "<div class=\"table\" role=\"region\" aria-labelledby=\"devices-title\" tabindex=\"0\">\n"
      "<table aria-labelledby=\"devices-title\">\n<thead><tr><th scope=\"col\">device";
  const std::vector<ShownTerm> terms = shown_terms(cost);
  for (const std::string& head : cost_heads(terms)) html += "<th scope=\"col\">" + head;
  for (const char* head : kMemoryHeads) html += std::string("<th scope=\"col\">") + head;
  html += "<th scope=\"col\">slices</thead>\n<tbody>\n";
  const int deciding = deciding_device(cost);
  for (std::size_t device = 0; device < cost.devices.size(); ++device) {
    const DeviceCost& of = cost.devices[device];
    html += static_cast<int>(device) == deciding ? "<tr class=\"deciding\">" : "<tr>";
    html += "<th scope=\"row\">" + std::to_string(device);
    for (const std::string& cell : cost_cells(terms, cost, device)) html += "<td>" + cell;
    for (const std::string& cell : memory_cells(of)) html += "<td>" + cell;
    html += "<td>" + format_count(static_cast<std::uint64_t>(of.slices)) + '\n';
  }
  return html + "</tbody></table></div>\n</section>\n";
}

std::string page(const std::string& task_name, const Task& task, const std::string& headline,
                 const std::string& devices, std::string data) {
  const std::string name = task_name.empty() ? "Plan" : html_text(task_name);
  return filled(
      {{"version", NEUROSHARD_VERSION},
       {"title", name + " on " + counted(static_cast<std::uint64_t>(task.devices), "device")},
       {"name", name},
       {"task", task_line(task)},
       {"headline", headline},
       {"devices", devices},
       {"data", std::move(data)}});
}

}  // namespace

std::string html_report(const PlanDocument& document, const ReportContext& context) {
  std::vector<PlanFact> facts = plan_facts(document);
  if (document.moves) {
    const std::vector<PlanFact> moves = move_facts(document);
    facts.insert(facts.begin(), moves.begin(), moves.end());
  }
  return page(
      document.task_name, document.task,
      warning_list(plan_warnings(document)) + overview(document, context) + fact_list(facts),
      device_section(document.cost), report_data(document));
}

std::string html_report(const NoPlanDocument& document) {
  std::vector<PlanFact> facts = {{"weights", printable(document.weights)}};
  for (const std::string& note : document.notes) facts.push_back({"note", printable(note)});
  return page(
      document.task_name, document.task,
      warning_list({"No plan: " + printable(document.infeasible.message)}) + fact_list(facts), "",
      "{}");
}

std::string html_frame(std::string_view report, std::string_view title) {
  // Not by xml_escaped: lines must stay lines, since they end comments.
  const std::string source =
      charts::escaped(report, {{'&', "&amp;"}, {'<', "&lt;"}, {'"', "&quot;"}});
  // Scripts run, but in an origin of their own.
  return "<iframe title=\"" + html_text(title) +
         "\" sandbox=\"allow-scripts\" style=\"width: 100%; height: 44rem; border: 0; resize: "
         "vertical\" srcdoc=\"" +
         source + "\"></iframe>";
}

}  // namespace neuroshard::tools
