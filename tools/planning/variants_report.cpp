#include "tools/planning/variants_report.h"

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "core/tables/stated_gib.h"
#include "neuroshard/column_halvings.h"
#include "neuroshard/error.h"
#include "neuroshard/plan_file.h"
#include "neuroshard/waiting.h"
#include "tools/charts/line_chart.h"
#include "tools/plan_pages/plan_report.h"
#include "tools/text/text.h"

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
  Json json = {{"devices", variant.devices}};
  if (variant.memory_bytes) json["memory_gb"] = stated_gib(*variant.memory_bytes);
  if (variant.host_bytes) json["host_gb"] = stated_gib(*variant.host_bytes);
  if (!outcome.has_plan()) {
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

std::string host_text(const TaskVariant& variant) {
  if (!variant.host_bytes) return {};
  if (*variant.host_bytes == 0) return ", no host memory";
  return ", hosts of " + format_bytes(*variant.host_bytes);
}

std::string memory_text(std::optional<std::int64_t> bytes) {
  return bytes ? format_bytes(*bytes) : "their memory";
}

std::string memory_text(const TaskVariant& variant) {
  return memory_text(variant.memory_bytes) + host_text(variant);
}

/// Indices of `variants`, fewest devices and least memory first; of equals, the first alone.
std::vector<std::size_t> by_size(std::span<const TaskVariant> variants) {
  std::map<std::tuple<int, std::optional<std::int64_t>, std::optional<std::int64_t>>, std::size_t>
      first;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const auto& [devices, memory_bytes, host_bytes] = variants[i];
    first.try_emplace({devices, memory_bytes, host_bytes}, i);
  }
  std::vector<std::size_t> indices;
  indices.reserve(first.size());
  for (const auto& [size, index] : first) indices.push_back(index);
  return indices;
}

/// Fewest devices that have a plan: what the cheapest of theirs costs beside the cheapest of all.
/// Empty if that is one of theirs.
std::string fewest_devices(const VariantsReport& report) {
  std::vector<std::size_t> planned = by_size(report.variants);
  std::erase_if(planned, [&](std::size_t i) { return !report.outcomes[i].has_plan(); });
  if (planned.empty()) return {};
  const auto cost_ms = [&](std::size_t i) { return report.outcomes[i]->cost.cost_ms; };
  const std::size_t cheapest = std::ranges::min(planned, {}, cost_ms);
  const std::size_t fewest = std::ranges::min(planned, {}, [&](std::size_t i) {
    return std::pair(report.variants[i].devices, cost_ms(i));
  });
  if (report.variants[fewest].devices == report.variants[cheapest].devices) return {};
  return variant_text(report.variants[fewest]) + " take " +
         format_number(cost_ms(fewest) / cost_ms(cheapest), 2) + " times as long as " +
         variant_text(report.variants[cheapest]);
}

std::string page_of(const VariantsReport& report, const TextStyle& style) {
  using enum TextTable::Align;
  // Either all variants say it or none.
  const bool hosts = !report.variants.empty() && report.variants.front().host_bytes;
  std::vector<TextTable::Align> columns(hosts ? 8 : 7, kRight);
  columns.push_back(kLeft);
  TextTable table(columns);
  const auto add_row = [&](const std::array<std::string, 2>& devices, const std::string& host,
                           const std::array<std::string, 6>& more) {
    std::vector<std::string> row(devices.begin(), devices.end());
    if (hosts) row.push_back(host);
    row.insert(row.end(), more.begin(), more.end());
    table.add_row(row);
  };
  add_row({"devices", "memory"}, "hosts",
          {"cost ms", "imbalance", "slices", "fullest", "search ms", ""});
  std::size_t planned = 0;
  for (std::size_t i = 0; i < report.variants.size(); ++i) {
    const auto& [devices, memory_bytes, host_bytes] = report.variants[i];
    const PlanOutcome& outcome = report.outcomes[i];
    const std::array<std::string, 2> given = {format_count(static_cast<std::uint64_t>(devices)),
                                              memory_text(memory_bytes)};
    const std::string host = format_bytes(host_bytes.value_or(0));
    if (!outcome.has_plan()) {
      add_row(given, host, {"-", "-", "-", "-", "-", printable(reason_of(outcome))});
      continue;
    }
    ++planned;
    const PlanCost& cost = outcome->cost;
    add_row(given, host,
            {format_ms(cost.cost_ms), format_number(imbalance(cost), 3),
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
  if (const std::string least = fewest_devices(report); !least.empty()) add("fewest", least);
  add("planned", format_count(planned) + " of " + counted(report.variants.size(), "variant"));
  add("read", "the task in " + format_ms(report.read_ms) + " ms");
  add("weights", printable(report.weights));
  for (const std::string& note : report.notes) add("note", printable(note));
  return text;
}

}  // namespace

std::string variant_text(const TaskVariant& variant) {
  return counted(static_cast<std::uint64_t>(variant.devices), "device") + " of " +
         memory_text(variant);
}

std::string variants_text(const VariantsReport& report, OutputFormat format,
                          const TextStyle& style) {
  if (format == OutputFormat::kTable) return page_of(report, style);
  Json variants = Json::array();
  for (std::size_t i = 0; i < report.variants.size(); ++i) {
    variants.push_back(variant_json(report.variants[i], report.outcomes[i]));
  }
  if (format == OutputFormat::kJsonl) return json_lines(variants);
  return json_document({{"format", "neuroshard.variants"},
                        {"version", 1},
                        {"task",
                         {{"name", report.title},
                          {"tables", report.task.tables.size()},
                          {"size_gb", gib_from_bytes(total_bytes(report.task))}}},
                        {"weights", report.weights},
                        {"notes", report.notes},
                        {"read_ms", report.read_ms},
                        {"variants", std::move(variants)}});
}

std::string variants_chart(const VariantsReport& report) {
  const auto several = [&](auto member) {
    return std::ranges::any_of(report.variants, [&](const TaskVariant& variant) {
      return variant.*member != report.variants.front().*member;
    });
  };
  const bool over_devices = several(&TaskVariant::devices);
  const bool over_memory = !over_devices && several(&TaskVariant::memory_bytes);
  std::map<std::tuple<int, std::optional<std::int64_t>, std::int64_t>, charts::Series> lines;
  for (const std::size_t i : by_size(report.variants)) {
    const auto& [devices, memory_bytes, host_bytes] = report.variants[i];
    const PlanOutcome& outcome = report.outcomes[i];
    if (!outcome.has_plan()) continue;
    const std::string count = counted(static_cast<std::uint64_t>(devices), "device");
    const std::int64_t host = host_bytes.value_or(0);
    const double cost_ms = outcome->cost.cost_ms;
    if (over_devices) {
      charts::Series& line = lines[{0, memory_bytes, host}];
      line.name = memory_text(report.variants[i]);
      line.points.emplace_back(devices, cost_ms);
    } else if (over_memory) {
      charts::Series& line = lines[{devices, 0, host}];
      line.name = count + host_text(report.variants[i]);
      line.points.emplace_back(gib_from_bytes(memory_bytes.value_or(0)), cost_ms);
    } else {
      charts::Series& line = lines[{devices, memory_bytes, 0}];
      line.name = count + " of " + memory_text(memory_bytes);
      line.points.emplace_back(gib_from_bytes(host), cost_ms);
    }
  }
  charts::LineChart chart{.title = printable(report.title),
                          .x_label = over_devices  ? "devices"
                                     : over_memory ? "GiB of each device"
                                                   : "GiB of hosts",
                          .y_label = "predicted ms per iteration",
                          .series = {}};
  for (const auto& [given, line] : lines) chart.series.push_back(line);
  return draw(std::span<const charts::LineChart>(&chart, 1));
}

}  // namespace neuroshard::tools
