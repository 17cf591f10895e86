#include "bench/scale/scale_report.h"

#include <cmath>
#include <filesystem>

#include "bench/markdown_table.h"
#include "tools/charts/line_chart.h"

namespace neuroshard::bench {
namespace {

using charts::LineChart;

constexpr std::size_t kColumns = 13;

double size_of(const ScaleResult& result) { return 1.0 * result.tables * result.devices; }

std::string growth(const ScaleResult* before, const ScaleResult& now) {
  if (before == nullptr || !before->point || size_of(*before) == size_of(now)) return "-";
  return three_digits(std::log(now.point->search_ms / before->point->search_ms) /
                      std::log(size_of(now) / size_of(*before)));
}

double mebibytes(std::int64_t bytes) { return static_cast<double>(bytes) / 1048576.0; }

LineChart time_chart(const std::string& title, const std::string& x_label,
                     std::span<const ScaleResult> results, bool over_tables) {
  LineChart chart{.title = title, .x_label = x_label, .y_label = "ms", .series = {}};
  chart.series = {{"search (wall)", {}}, {"search (CPU)", {}}};
  for (const ScaleResult& result : results) {
    if (!result.point) continue;
    const double x = over_tables ? result.tables : result.devices;
    chart.series[0].points.emplace_back(x, result.point->search_ms);
    chart.series[1].points.emplace_back(x, result.point->cpu_ms);
  }
  return chart;
}

std::string name_of(const ScaleResult& result) {
  std::string name = "scale/";
  if (!result.task_file.empty()) {
    name += std::filesystem::path(result.task_file).stem().string() + "/";
  }
  return name + "tables:" + std::to_string(result.tables) +
         "/devices:" + std::to_string(result.devices);
}

}  // namespace

std::string scale_table(std::span<const ScaleResult> results) {
  MarkdownTable table({"tables", "devices", "search ms", "CPU ms", "spread", "growth",
                       "ns per table x device", "candidates", "heads", "comm models",
                       "plan cost ms", "peak MiB", "before MiB"});
  const ScaleResult* before = nullptr;
  for (const ScaleResult& result : results) {
    std::vector<std::string> row = {with_separators(result.tables),
                                    with_separators(result.devices)};
    if (!result.point) {
      row.push_back(result.failure);
      row.resize(kColumns, "-");
    } else {
      const ScalePoint& point = *result.point;
      row.insert(
          row.end(),
          {three_digits(point.search_ms), three_digits(point.cpu_ms),
           point.plans > 1 ? percent(point.spread) : "one plan", growth(before, result),
           three_digits(point.search_ms * 1e6 / size_of(result)), with_separators(point.candidates),
           with_separators(point.head_evaluations), with_separators(point.comm_evaluations),
           point.cost_ms < 0.0 ? "no plan" : three_digits(point.cost_ms),
           three_digits(mebibytes(point.peak_bytes)),
           three_digits(mebibytes(point.initial_bytes))});
      before = &result;
    }
    table.add_row(std::move(row));
  }
  return table.str();
}

std::string scale_chart(std::span<const ScaleResult> by_tables,
                        std::span<const ScaleResult> by_devices) {
  std::vector<LineChart> panels;
  if (!by_tables.empty()) {
    panels.push_back(
        time_chart("Search time, " + std::to_string(by_tables.front().devices) + " devices",
                   "tables", by_tables, true));
  }
  if (!by_devices.empty()) {
    panels.push_back(
        time_chart("Search time, " + std::to_string(by_devices.front().tables) + " tables",
                   "devices", by_devices, false));
  }
  return draw(panels);
}

void add_to_report(JsonReport& report, const ScaleResult& result, int threads) {
  if (!result.point) return;
  const ScalePoint& point = *result.point;
  report.add({.name = name_of(result),
              .rounds = {{point.search_ms, point.cpu_ms}},
              .operations = point.plans,
              .threads = threads,
              .figures = {{"spread", point.spread},
                          {"candidates", static_cast<double>(point.candidates)},
                          {"head_evaluations", static_cast<double>(point.head_evaluations)},
                          {"comm_evaluations", static_cast<double>(point.comm_evaluations)},
                          {"peak_mib", mebibytes(point.peak_bytes)},
                          {"initial_mib", mebibytes(point.initial_bytes)},
                          {"cost_ms", point.cost_ms}},
              .label = point.random_comm ? "communication model with random weights" : ""});
}

}  // namespace neuroshard::bench
