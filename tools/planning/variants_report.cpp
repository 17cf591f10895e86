#include "tools/planning/variants_report.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "core/tables/stated_gib.h"
#include "neuroshard/column_halvings.h"
#include "neuroshard/error.h"
#include "neuroshard/plan_file.h"
#include "neuroshard/waiting.h"
#include "tools/charts/line_chart.h"
#include "tools/plan_pages/plan_report.h"

namespace neuroshard::tools {
namespace {

using Json = nlohmann::ordered_json;

std::int64_t fullest_bytes(const PlanCost& cost) {
  return std::ranges::max(cost.devices, {}, &DeviceCost::memory_bytes).memory_bytes;
}

int slices_of(const PlanCost& cost) {
  int slices = 0;
  for (const DeviceCost& device : cost.devices) slices += device.slices;
  return slices;
}

/// Why there is no plan.
std::string reason_of(const PlanOutcome& outcome) {
  if (!outcome) return outcome.error().what();
  return outcome->infeasible ? outcome->infeasible->message : "no plan";
}

std::string_view error_kind_of(const PlanOutcome& outcome) {
  if (!outcome) {
    return outcome.error().kind() == ErrorKind::kInvalidInput ? "invalid_task" : "failed";
  }
  return outcome->infeasible ? name_of(outcome->infeasible->kind) : "failed";
}

/// As in a plan's line, but that a variant's `slices` count them.
void add_plan(Json& json, const Plan& plan) {
  if (const std::optional<HalvedPlan> halved = halvings_of(plan)) {
    json["column_splits"] = halved->column_splits;
    json["shards"] = halved->shards;
    return;
  }
  Json& slices = json["slice_list"] = Json::array();
  for (const auto& [table, first_column, dim, first_row, rows] : plan.slices) {
    slices.push_back({table, first_column, dim, first_row, rows});
  }
  json["shards"] = plan.shards;
  if (!plan.replicas.empty()) json["replicas"] = plan.replicas;
  if (!plan.deduplicated.empty()) json["deduplicated"] = plan.deduplicated;
  for (const auto& [table, rows, node_rows] : plan.hot_rows) {
    Json& entry = json["hot_rows"].emplace_back(Json{table, rows});
    if (node_rows > 0) entry.push_back(node_rows);
  }
}

Json variant_json(const TaskVariant& variant, const PlanOutcome& outcome) {
  Json json = {{"devices", variant.devices}, {"memory_gb", stated_gib(variant.memory_bytes)}};
  if (!outcome || !outcome->plan) {
    json["error"] = {{"kind", error_kind_of(outcome)}, {"message", reason_of(outcome)}};
    return json;
  }
  const PlanCost& cost = outcome->cost;
  json["cost_ms"] = cost.cost_ms;
  json["imbalance"] = imbalance(cost);
  json["slices"] = slices_of(cost);
  json["fullest_gb"] = gib_from_bytes(fullest_bytes(cost));
  json["search_ms"] = outcome->stats.search_ms;
  if (!outcome->complete) json["complete"] = false;
  if (!cost.warning.empty()) json["warning"] = cost.warning;
  add_plan(json, *outcome->plan);
  return json;
}

std::string dumped(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string variant_text(const TaskVariant& variant) {
  return counted(static_cast<std::uint64_t>(variant.devices), "device") + " of " +
         format_bytes(variant.memory_bytes);
}

std::string variants_page(const VariantsReport& report, const TextStyle& style) {
  using enum TextTable::Align;
  TextTable table({kRight, kRight, kRight, kRight, kRight, kRight, kRight, kLeft});
  table.add_row(
      {"devices", "memory", "cost ms", "imbalance", "slices", "fullest", "search ms", ""});
  std::size_t planned = 0;
  for (std::size_t i = 0; i < report.variants.size(); ++i) {
    const auto& [devices, memory_bytes] = report.variants[i];
    const PlanOutcome& outcome = report.outcomes[i];
    const std::string count = format_count(static_cast<std::uint64_t>(devices));
    if (!outcome || !outcome->plan) {
      table.add_row({count, format_bytes(memory_bytes), "-", "-", "-", "-", "-",
                     printable(reason_of(outcome))});
      continue;
    }
    ++planned;
    const PlanCost& cost = outcome->cost;
    table.add_row({count, format_bytes(memory_bytes), format_ms(cost.cost_ms),
                   format_number(imbalance(cost), 3),
                   format_count(static_cast<std::uint64_t>(slices_of(cost))),
                   format_bytes(fullest_bytes(cost)), format_ms(outcome->stats.search_ms),
                   printable(cost.warning)});
  }
  std::string text = bold(printable(report.title), style) + ": " +
                     counted(report.task.tables.size(), "table") + ", " +
                     format_bytes(total_bytes(report.task)) + "\n\n" + table.str() + '\n';
  const auto add = [&](const char* label, const std::string& line) {
    text += paragraph(label, line, 9, style);
  };
  add("planned", format_count(planned) + " of " + counted(report.variants.size(), "variant"));
  add("read", "the task in " + format_ms(report.read_ms) + " ms");
  add("weights", printable(report.weights));
  for (const std::string& note : report.notes) add("note", printable(note));
  return text;
}

std::string variants_json(const VariantsReport& report) {
  Json json = {{"format", "neuroshard.variants"},
               {"version", 1},
               {"task",
                {{"name", report.title},
                 {"tables", report.task.tables.size()},
                 {"size_gb", gib_from_bytes(total_bytes(report.task))}}},
               {"weights", report.weights},
               {"notes", report.notes},
               {"read_ms", report.read_ms}};
  Json& variants = json["variants"] = Json::array();
  for (std::size_t i = 0; i < report.variants.size(); ++i) {
    variants.push_back(variant_json(report.variants[i], report.outcomes[i]));
  }
  return dumped(json, 2) + '\n';
}

std::string variants_json_lines(const VariantsReport& report) {
  std::string text;
  for (std::size_t i = 0; i < report.variants.size(); ++i) {
    text += dumped(variant_json(report.variants[i], report.outcomes[i]), -1) + '\n';
  }
  return text;
}

std::string variants_chart(const VariantsReport& report) {
  std::map<std::int64_t, std::map<int, double>> costs;  // By memory, then devices.
  for (std::size_t i = 0; i < report.variants.size(); ++i) {
    const PlanOutcome& outcome = report.outcomes[i];
    if (!outcome || !outcome->plan) continue;
    costs[report.variants[i].memory_bytes][report.variants[i].devices] = outcome->cost.cost_ms;
  }
  charts::LineChart chart{.title = printable(report.title),
                          .x_label = "devices",
                          .y_label = "predicted ms per iteration",
                          .series = {}};
  for (const auto& [memory_bytes, by_devices] : costs) {
    charts::Series series{.name = format_bytes(memory_bytes), .points = {}};
    for (const auto& [devices, cost_ms] : by_devices) series.points.emplace_back(devices, cost_ms);
    chart.series.push_back(std::move(series));
  }
  return draw(std::span<const charts::LineChart>(&chart, 1));
}

}  // namespace neuroshard::tools
