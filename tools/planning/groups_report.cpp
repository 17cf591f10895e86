#include "tools/planning/groups_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>

#include "core/base/message_text.h"
#include "core/tables/host_memory_fields.h"
#include "core/tables/node_link_fields.h"
#include "neuroshard/plan_file.h"
#include "tools/charts/line_chart.h"
#include "tools/text/text.h"

namespace neuroshard::tools {
namespace {

using GroupsJson = nlohmann::ordered_json;

std::string layout_of(const GroupsPlan& plan) {
  return plan.copies == 1 ? "" : std::string(name_of(plan.groups.layout));
}

std::string iterations_text(const GroupsPlan& plan) {
  return plan.iterations == 0.0 ? "-" : format_number(plan.iterations, 0);
}

/// That of nodes.
std::string host_option(const HostMemory& host) {
  std::vector<std::string> fields;
  const auto add = [&](const char* name, const std::string& value) {
    fields.push_back(std::string(name) + '=' + value);
  };
  add(kHostNodeGbField, shortest_text(gib_from_bytes(host.bytes)));
  add(kHostLinkField, shortest_text(host.link_gb_s));
  add(kHostPolicyField, std::string(name_of(host.policy)));
  if (host.prefetch) fields.emplace_back(kHostPrefetchField);
  if (host.ssd_bytes > 0) {
    add(kSsdGbField, shortest_text(gib_from_bytes(host.ssd_bytes)));
    add(kSsdRateField, shortest_text(host.ssd_gb_s));
  }
  return joined(fields, ",");
}

/// Options that tell other commands of one group; none if its devices are listed.
std::string options_of(const GroupsReport& report, const Task& group) {
  if (!group.device_list.empty()) return {};
  std::string text = "--devices " + std::to_string(group.devices) + " --batch-size " +
                     std::to_string(group.batch_size);
  if (group.devices_per_node != report.task.devices_per_node) {
    text += " --devices-per-node " + std::to_string(group.devices_per_node);
  }
  if (group.host != report.task.host) text += " --host-memory " + host_option(group.host);
  if (!group.links || group.links == report.task.links) return text;
  for (const auto& [name, gb_s] : kNodeLinkFields) {
    if ((*group.links).*gb_s == 0.0) continue;
    std::string option = name;
    std::ranges::replace(option, '_', '-');
    text += " --" + option + ' ' + shortest_text((*group.links).*gb_s);
  }
  const char* between = " --link-levels ";
  for (const LinkLevel& level : group.links->levels) {
    text += between + std::to_string(level.devices) + ':' + shortest_text(level.gb_s);
    between = ",";
  }
  return text;
}

GroupsJson json_of(const GroupsReport& report, const GroupsPlan& plan) {
  GroupsJson json = {
      {"size", plan.groups.size}, {"layout", name_of(plan.groups.layout)}, {"copies", plan.copies}};
  if (std::string options = options_of(report, plan.task); !options.empty()) {
    json["options"] = std::move(options);
  }
  if (!plan.result.plan) {
    json["error"] = {{"kind", name_of(plan.result.infeasible->kind)},
                     {"message", plan.result.infeasible->message}};
    return json;
  }
  json["cost_ms"] = plan.cost_ms;
  json["iteration_ms"] = plan.result.cost.cost_ms;
  json["averaging_ms"] = plan.averaging_ms;
  json["averaged_gb"] = gib_from_bytes(plan.averaged_bytes);
  json["iterations"] = plan.iterations;
  if (!plan.result.complete) json["complete"] = false;
  if (!plan.result.cost.warning.empty()) json["warning"] = plan.result.cost.warning;
  return json;
}

std::string page_of(const GroupsReport& report, const TextStyle& style) {
  using enum TextTable::Align;
  TextTable table({kRight, kLeft, kRight, kRight, kRight, kRight, kRight, kRight, kLeft});
  table.add_row({"size", "layout", "groups", "cost ms", "iteration ms", "averaging ms", "every",
                 "averaged", ""});
  const GroupsResult& result = report.result;
  for (const GroupsPlan& plan : result.plans) {
    const std::string size = format_count(static_cast<std::uint64_t>(plan.groups.size));
    const std::string copies = format_count(static_cast<std::uint64_t>(plan.copies));
    if (!plan.result.plan) {
      table.add_row({size, layout_of(plan), copies, "-", "-", "-", "-", "-",
                     printable(plan.result.infeasible->message)});
      continue;
    }
    const bool best = result.best && &plan == &result.plans[*result.best];
    std::string remark = best ? "cheapest" : "";
    if (const std::string& warning = plan.result.cost.warning; !warning.empty()) {
      remark += (remark.empty() ? "" : "; ") + printable(warning);
    }
    table.add_row({size, layout_of(plan), copies, format_ms(plan.cost_ms),
                   format_ms(plan.result.cost.cost_ms), format_ms(plan.averaging_ms),
                   iterations_text(plan), format_bytes(plan.averaged_bytes), remark});
  }
  std::string text = bold(printable(report.title), style) + ": " +
                     counted(report.task.tables.size(), "table") + ", " +
                     format_bytes(total_bytes(report.task)) + ", " +
                     counted(static_cast<std::uint64_t>(report.task.devices), "device") + "\n\n" +
                     table.str() + '\n';
  const auto add = [&](const char* label, const std::string& line) {
    text += paragraph(label, line, 9, style);
  };
  if (result.best) {
    const std::string options = options_of(report, result.plans[*result.best].task);
    if (options.empty()) {
      add("a group",
          "no option lists devices: other commands need the task with fewer \"devices\"");
    } else {
      add("a group", "for other commands, one of the cheapest is: " + options);
      if (!report.task.tables.empty() && report.task.tables.front().memory.batch_size == 0) {
        add("note", "the task states no batch_size; with the option, buffers count, too");
      }
    }
  }
  for (const std::string& left_out : result.left_out) add("left out", printable(left_out));
  add("weights", printable(report.weights));
  for (const std::string& note : report.notes) add("note", printable(note));
  return text;
}

}  // namespace

std::string groups_text(const GroupsReport& report, OutputFormat format, const TextStyle& style) {
  if (format == OutputFormat::kTable) return page_of(report, style);
  GroupsJson plans = GroupsJson::array();
  for (const GroupsPlan& plan : report.result.plans) plans.push_back(json_of(report, plan));
  if (format == OutputFormat::kJsonl) return json_lines(plans);
  GroupsJson json = {{"format", "neuroshard.groups"},
                     {"version", 1},
                     {"task",
                      {{"name", report.title},
                       {"tables", report.task.tables.size()},
                       {"size_gb", gib_from_bytes(total_bytes(report.task))},
                       {"devices", report.task.devices}}},
                     {"weights", report.weights},
                     {"notes", report.notes},
                     {"left_out", report.result.left_out},
                     {"groups", std::move(plans)},
                     {"best", nullptr}};
  if (report.result.best) json["best"] = *report.result.best;
  return json_document(json);
}

std::string groups_chart(const GroupsReport& report) {
  charts::LineChart chart{.title = printable(report.title),
                          .x_label = "devices of a group",
                          .y_label = "predicted ms per iteration",
                          .series = {}};
  for (const GroupLayout layout : all_group_layouts()) {
    charts::Series with{.name = std::string(name_of(layout)), .points = {}};
    charts::Series without{.name = with.name + ", not averaged", .points = {}};
    for (const GroupsPlan& plan : report.result.plans) {
      // One group is the end of both lines.
      if (!plan.result.plan || (plan.groups.layout != layout && plan.copies > 1)) continue;
      with.points.emplace_back(plan.groups.size, plan.cost_ms);
      without.points.emplace_back(plan.groups.size, plan.result.cost.cost_ms);
    }
    if (with.points.empty()) continue;
    chart.series.push_back(std::move(with));
    chart.series.push_back(std::move(without));
  }
  return draw(std::span<const charts::LineChart>(&chart, 1));
}

}  // namespace neuroshard::tools
