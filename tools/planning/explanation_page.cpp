#include "tools/planning/explanation_page.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/message_text.h"
#include "neuroshard/cost_terms.h"
#include "tools/plan_pages/plan_report.h"

namespace neuroshard::tools {
namespace {

using ExplainJson = nlohmann::ordered_json;

constexpr int kExplainIndent = 9;

/// "-0.012": what a change adds to the plan's cost.
std::string change_text(double ms, double before_ms) {
  const double change = ms - before_ms;
  return std::string(1, change < 0.0 ? '-' : '+').append(format_ms(std::abs(change)));
}

std::string columns_text(const TableSlice& slice) {
  return std::to_string(slice.first_column) + "-" +
         std::to_string(slice.first_column + slice.dim - 1);
}

std::string why_text(const PlanExplanation& explained) {
  const auto deciding = static_cast<std::size_t>(explained.by_cost.front());
  const DeviceCost& cost = explained.cost.devices[deciding];
  return terms_text(cost_terms(explained.cost), cost) + "; it begins its forward all-to-all " +
         format_ms(explained.start_offset_ms[deciding]) + " ms after the first device";
}

std::string next_text(const PlanExplanation& explained) {
  constexpr std::size_t kShown = 4;
  std::string text;
  for (std::size_t i = 1; i < std::min(kShown + 1, explained.by_cost.size()); ++i) {
    const int device = explained.by_cost[i];
    text += (text.empty() ? "device " : ", device ") + std::to_string(device) + ": " +
            change_text(explained.cost.devices[static_cast<std::size_t>(device)].total_ms(),
                        explained.cost.cost_ms) +
            " ms";
  }
  return text.empty() ? "none: there is one device" : text;
}

std::string slice_table(const ExplainedPlan& plan) {
  using enum TextTable::Align;
  const PlanExplanation& explained = plan.explanation;
  const auto deciding = static_cast<std::size_t>(explained.by_cost.front());
  const double device_ms = explained.cost.devices[deciding].total_ms();
  std::vector<SliceExplanation> slices = explained.slices[deciding];
  std::ranges::stable_sort(slices, {}, [](const SliceExplanation& slice) {
    return std::pair(slice.without.plan_ms, slice.without.device_ms);
  });
  TextTable table({kLeft, kRight, kRight, kRight, kRight});
  table.add_row({"without", "columns", "plan ms", "change", "its device"});
  constexpr std::size_t kMostSlices = 20;
  for (std::size_t i = 0; i < std::min(kMostSlices, slices.size()); ++i) {
    const auto& [slice, held, without] = slices[i];
    table.add_row({cut(table_label(plan.task, held.table), 40), columns_text(held),
                   format_ms(without.plan_ms), change_text(without.plan_ms, explained.cost.cost_ms),
                   change_text(without.device_ms, device_ms)});
  }
  const std::size_t left = slices.size() - std::min(kMostSlices, slices.size());
  return table.str() + (left > 0 ? "... and " + counted(left, "slice") + " more\n" : "");
}

std::string cut_table(const ExplainedPlan& plan) {
  using enum TextTable::Align;
  const PlanExplanation& explained = plan.explanation;
  const auto change = [&](const std::optional<ChangedCost>& cost) {
    return cost ? change_text(cost->plan_ms, explained.cost.cost_ms) : std::string("-");
  };
  TextTable table({kLeft, kRight, kRight, kRight, kRight, kRight});
  table.add_row({"cut table", "slices", "here", "these as one", "whole", "on device"});
  for (const CutExplanation& cut_of : explained.cuts) {
    table.add_row({cut(table_label(plan.task, cut_of.table), 40), std::to_string(cut_of.slices),
                   std::to_string(cut_of.slices_here), change(cut_of.merged), change(cut_of.whole),
                   cut_of.whole ? std::to_string(cut_of.whole_device) : "no room"});
  }
  return table.str();
}

void set_name(ExplainJson& json, const Task& task, int table) {
  const std::string& name = task.tables[static_cast<std::size_t>(table)].name;
  if (!name.empty()) json["name"] = name;
}

ExplainJson json_of(const ChangedCost& cost) {
  return {{"plan_ms", cost.plan_ms}, {"device_ms", cost.device_ms}};
}

ExplainJson json_of(const SliceExplanation& slice, const Task& task) {
  ExplainJson json = {{"slice", slice.slice}, {"table", slice.held.table}};
  set_name(json, task, slice.held.table);
  json["first_column"] = slice.held.first_column;
  json["dim"] = slice.held.dim;
  json["without"] = json_of(slice.without);
  return json;
}

ExplainJson json_of(const CutExplanation& cut_of, const Task& task) {
  ExplainJson json = {{"table", cut_of.table}};
  set_name(json, task, cut_of.table);
  json["slices"] = cut_of.slices;
  json["slices_here"] = cut_of.slices_here;
  if (cut_of.merged) json["merged"] = json_of(*cut_of.merged);
  if (cut_of.whole) {
    json["whole"] = json_of(*cut_of.whole);
    json["whole"]["device"] = cut_of.whole_device;
  }
  return json;
}

}  // namespace

std::string explanation_page(const ExplainedPlan& plan, const TextStyle& style) {
  const PlanExplanation& explained = plan.explanation;
  const auto line = [&](std::string_view label, std::string_view text) {
    return paragraph(label, text, kExplainIndent, style);
  };
  std::string text =
      printable(plan.title) + ": " + bold(format_ms(explained.cost.cost_ms) + " ms", style) +
      " per iteration, set by device " + std::to_string(explained.by_cost.front()) + "\n\n";
  text += line("why", why_text(explained));
  text += line("next", next_text(explained));
  text += "\nSlices of device " + std::to_string(explained.by_cost.front()) +
          ", and what leaving one out changes (ms):\n" + slice_table(plan);
  if (!explained.cuts.empty()) {
    text +=
        "\nIts tables that are cut, and what undoing the cuts changes (ms):\n" + cut_table(plan);
  }
  text += '\n' + line("weights", plan.weights);
  for (const std::string& note : plan.notes) text += line("note", printable(note));
  return text;
}

std::string explanation_json(const ExplainedPlan& plan, int indent) {
  const PlanExplanation& explained = plan.explanation;
  ExplainJson json = {{"format", "neuroshard.explanation"},
                      {"version", 1},
                      {"task", plan.title},
                      {"weights", plan.weights},
                      {"notes", plan.notes},
                      {"cost_ms", explained.cost.cost_ms},
                      {"deciding_device", explained.by_cost.front()},
                      {"devices_by_cost", explained.by_cost}};
  const std::vector<CostTerm> terms = cost_terms(explained.cost);
  ExplainJson& devices = json["devices"] = ExplainJson::array();
  for (std::size_t device = 0; device < explained.cost.devices.size(); ++device) {
    const DeviceCost& cost = explained.cost.devices[device];
    ExplainJson& entry =
        devices.emplace_back(ExplainJson{{"device", device}, {"total_ms", cost.total_ms()}});
    for (const auto& [name, ms] : terms) entry[std::string(name) + "_ms"] = cost.*ms;
    entry["start_offset_ms"] = explained.start_offset_ms[device];
    entry["slices"] = ExplainJson::array();
    for (const SliceExplanation& slice : explained.slices[device]) {
      entry["slices"].push_back(json_of(slice, plan.task));
    }
  }
  ExplainJson& cuts = json["cuts"] = ExplainJson::array();
  for (const CutExplanation& cut_of : explained.cuts) cuts.push_back(json_of(cut_of, plan.task));
  return json.dump(indent, ' ', false, ExplainJson::error_handler_t::replace) + '\n';
}

}  // namespace neuroshard::tools
