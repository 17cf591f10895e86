#include "tools/plan_pages/explanation_page.h"

#include <algorithm>
#include <functional>

#include "core/base/message_text.h"
#include "neuroshard/waiting.h"
#include "tools/plan_pages/plan_report.h"
#include "tools/plan_pages/rules_page.h"

namespace neuroshard::tools {
namespace {

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
  const auto deciding = static_cast<std::size_t>(explained.deciding);
  const DeviceCost& cost = explained.cost.devices[deciding];
  std::string text = terms_text(shown_terms(explained.cost), deciding);
  std::string parts;
  if (cost.base_ms > 0.0) parts = format_ms(cost.base_ms) + " ms of its compute are its base load";
  if (cost.speed != 1.0) {
    parts += (parts.empty() ? "" : ", and ") + ("its speed is " + format_number(cost.speed, 3));
  }
  if (!parts.empty()) text += "; " + parts;
  const std::string hidden = hidden_text(explained.cost);
  if (!hidden.empty()) text += "; " + hidden;
  text += "; it begins its forward all-to-all " + format_ms(explained.start_offset_ms[deciding]) +
          " ms after the first device";
  const auto longest = std::ranges::max_element(explained.devices, {}, &DeviceExplanation::wait_ms);
  if (longest->wait_ms > explained.devices[deciding].wait_ms) {
    text += ", so that others wait, device " + std::to_string(longest - explained.devices.begin()) +
            " for " + format_ms(longest->wait_ms) + " ms";
  }
  return text;
}

/// Other devices, those first that take longest by themselves.
std::string next_text(const PlanExplanation& explained) {
  constexpr std::size_t kShown = 4;
  const std::vector<double> work = work_ms(explained.cost);
  const auto own_ms = [&](int device) { return work[static_cast<std::size_t>(device)]; };
  std::vector<int> others = explained.by_cost;
  std::erase(others, explained.deciding);
  std::ranges::stable_sort(others, std::greater<>(), own_ms);
  std::string text;
  for (std::size_t i = 0; i < std::min(kShown, others.size()); ++i) {
    const double wait_ms = explained.devices[static_cast<std::size_t>(others[i])].wait_ms;
    text += (text.empty() ? "device " : "; device ") + std::to_string(others[i]) + ": " +
            change_text(own_ms(others[i]), own_ms(explained.deciding)) + " ms";
    if (wait_ms > 0.0) text += ", and it waits " + format_ms(wait_ms) + " ms";
  }
  return text.empty() ? "none: there is one device" : text;
}

/// Table of what the deciding device is late by.
std::string device_table(const PlanExplanation& explained) {
  using enum TextTable::Align;
  const auto deciding = static_cast<std::size_t>(explained.deciding);
  const DeviceExplanation& device = explained.devices[deciding];
  const DeviceCost& cost = explained.cost.devices[deciding];
  TextTable table({kLeft, kRight, kRight, kRight});
  table.add_row({"without", "plan ms", "change", "of the device"});
  const auto add = [&](const std::string& what, const std::optional<ChangedCost>& without) {
    if (!without) return;
    table.add_row({what, format_ms(without->plan_ms),
                   change_text(without->plan_ms, explained.cost.cost_ms),
                   change_text(without->device_ms, cost.total_ms())});
  };
  add("its base load", device.without_base);
  add("a speed below 1", device.at_full_speed);
  add("all its slices", device.without_slices);
  return table.str();
}

std::string slice_table(const ExplanationDocument& document) {
  using enum TextTable::Align;
  const PlanExplanation& explained = *document.explanation;
  const auto deciding = static_cast<std::size_t>(explained.deciding);
  const double device_ms = explained.cost.devices[deciding].total_ms();
  std::vector<SliceExplanation> slices = explained.slices[deciding];
  std::ranges::stable_sort(slices, {}, [](const SliceExplanation& slice) {
    return std::pair(slice.without.plan_ms, slice.without.device_ms);
  });
  TextTable table({kLeft, kRight, kRight, kRight, kRight});
  table.add_row({"without", "columns", "plan ms", "change", "of the device"});
  constexpr std::size_t kMostSlices = 20;
  for (std::size_t i = 0; i < std::min(kMostSlices, slices.size()); ++i) {
    const auto& [slice, held, without] = slices[i];
    table.add_row({cut(table_label(document.task, held.table), 40), columns_text(held),
                   format_ms(without.plan_ms), change_text(without.plan_ms, explained.cost.cost_ms),
                   change_text(without.device_ms, device_ms)});
  }
  const std::size_t left = slices.size() - std::min(kMostSlices, slices.size());
  return table.str() + (left > 0 ? "... and " + counted(left, "slice") + " more\n" : "");
}

std::string cut_table(const ExplanationDocument& document) {
  using enum TextTable::Align;
  const PlanExplanation& explained = *document.explanation;
  const auto change = [&](const std::optional<ChangedCost>& cost) {
    return cost ? change_text(cost->plan_ms, explained.cost.cost_ms) : std::string("-");
  };
  TextTable table({kLeft, kRight, kRight, kRight, kRight, kRight});
  table.add_row({"cut table", "slices", "here", "these as one", "whole", "on device"});
  for (const CutExplanation& cut_of : explained.cuts) {
    table.add_row({cut(table_label(document.task, cut_of.table), 40), std::to_string(cut_of.slices),
                   std::to_string(cut_of.slices_here), change(cut_of.merged), change(cut_of.whole),
                   cut_of.whole ? std::to_string(cut_of.whole_device) : "no room"});
  }
  return table.str();
}

}  // namespace

std::string explanation_page(const ExplanationDocument& document, const TextStyle& style) {
  const std::string rules = document.rules ? rules_page(document.task, *document.rules) : "";
  if (!document.explanation) {
    return printable(document.task_name) + ": no plan: " + printable(document.infeasible->message) +
           '\n' + rules;
  }
  const PlanExplanation& explained = *document.explanation;
  const auto line = [&](std::string_view label, std::string_view text) {
    return paragraph(label, text, kExplainIndent, style);
  };
  std::string text = printable(document.task_name) + ": " +
                     bold(format_ms(explained.cost.cost_ms) + " ms", style) + " per " +
                     iteration_text(document.task) + ", set by " + decided_by(explained.cost) +
                     "\n\n";
  text += line("why", why_text(explained));
  text += line("next", next_text(explained));
  const auto deciding = static_cast<std::size_t>(explained.deciding);
  const DeviceExplanation& device = explained.devices[deciding];
  const std::string name = "device " + std::to_string(explained.deciding);
  if (device.without_base || device.at_full_speed || device.without_slices) {
    text += "\nCosts without what slows " + name + " down (ms):\n" + device_table(explained);
  }
  if (!explained.slices[deciding].empty()) {
    text += "\nCosts without one of the slices of " + name + " (ms):\n" + slice_table(document);
  }
  if (!explained.cuts.empty()) {
    text += "\nIts tables that are cut, and what undoing the cuts changes (ms):\n" +
            cut_table(document);
  }
  text += rules + '\n' + line("weights", document.weights);
  for (const std::string& note : document.notes) text += line("note", printable(note));
  const std::string& warning = explained.cost.warning;
  return warning.empty() ? text : text + line("note", printable(warning));
}

}  // namespace neuroshard::tools
