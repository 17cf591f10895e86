#include "bench/gap/gap_report.h"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <map>
#include <vector>

#include "bench/markdown_table.h"
#include "bench/statistics.h"
#include "tools/charts/line_chart.h"

namespace neuroshard::bench {
namespace {

using charts::LineChart;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr double kClearlyDearer = 1.02;

using Other = std::optional<GapPlan> GapResult::*;

/// Our cost over that of another plan; NaN unless there are both.
double ratio(const GapResult& result, Other other) {
  if (!result.ours || !(result.*other)) return kNone;
  return result.ours->cost_ms / (result.*other)->cost_ms;
}

/// Of the cases that have one.
struct Ratios {
  std::vector<double> all;

  Ratios(const std::vector<const GapResult*>& results, Other other) {
    for (const GapResult* result : results) {
      const double value = ratio(*result, other);
      if (value > 0.0) all.push_back(value);
    }
  }
  [[nodiscard]] double geometric_mean() const {
    return all.empty() ? kNone : bench::geometric_mean(all);
  }
  [[nodiscard]] double worst() const { return all.empty() ? kNone : std::ranges::max(all); }
  [[nodiscard]] std::int64_t above(double limit) const {
    return std::ranges::count_if(all, [&](double value) { return value > limit; });
  }
};

std::map<int, std::vector<const GapResult*>> by_devices(std::span<const GapResult> results) {
  std::map<int, std::vector<const GapResult*>> groups;
  for (const GapResult& result : results) groups[result.devices].push_back(&result);
  return groups;
}

std::string cost_text(const std::optional<GapPlan>& plan) {
  return plan ? three_digits(plan->cost_ms) : "-";
}

std::string slices_text(const std::optional<GapPlan>& plan) {
  return plan ? with_separators(plan->slices) : "-";
}

std::string time_text(const std::optional<GapPlan>& plan) {
  return plan ? three_digits(plan->time.wall_ms) : "-";
}

double mean_of(const std::vector<const GapResult*>& results, Other plan,
               const std::function<double(const GapPlan&)>& value) {
  std::vector<double> values;
  for (const GapResult* result : results) {
    if (result->*plan) values.push_back(value(*(result->*plan)));
  }
  return values.empty() ? kNone : mean(values);
}

std::vector<std::string> summary_row(const std::string& devices,
                                     const std::vector<const GapResult*>& results) {
  const Ratios uniform(results, &GapResult::uniform);
  const Ratios annealed(results, &GapResult::annealed);
  const auto slices = [](const GapPlan& plan) { return static_cast<double>(plan.slices); };
  const auto time = [](const GapPlan& plan) { return plan.time.wall_ms; };
  const auto without_plan =
      std::ranges::count_if(results, [](const GapResult* result) { return !result->ours; });
  return {devices,
          std::to_string(results.size()),
          std::to_string(without_plan),
          three_decimals(uniform.geometric_mean()),
          three_decimals(uniform.worst()),
          std::to_string(uniform.above(1.0)),
          std::to_string(uniform.above(kClearlyDearer)),
          std::to_string(annealed.all.size()),
          three_decimals(annealed.geometric_mean()),
          three_decimals(annealed.worst()),
          three_digits(mean_of(results, &GapResult::ours, slices)),
          three_digits(mean_of(results, &GapResult::uniform, slices)),
          three_digits(mean_of(results, &GapResult::annealed, slices)),
          three_digits(mean_of(results, &GapResult::ours, time))};
}

}  // namespace

std::string gap_table(std::span<const GapResult> results) {
  MarkdownTable table({"case", "devices", "tables", "ours ms", "uniform ms", "annealed ms",
                       "ours / uniform", "ours / annealed", "slices", "of uniform", "of annealed",
                       "empty devices", "search ms", "uniform search ms", "annealing ms"});
  for (const GapResult& result : results) {
    table.add_row({result.name, with_separators(result.devices), with_separators(result.tables),
                   cost_text(result.ours), cost_text(result.uniform), cost_text(result.annealed),
                   three_decimals(ratio(result, &GapResult::uniform)),
                   three_decimals(ratio(result, &GapResult::annealed)), slices_text(result.ours),
                   slices_text(result.uniform), slices_text(result.annealed),
                   result.ours ? with_separators(result.ours->empty_devices) : "-",
                   time_text(result.ours), time_text(result.uniform), time_text(result.annealed)});
  }
  return table.str();
}

std::string gap_summary(std::span<const GapResult> results) {
  MarkdownTable table({"devices", "cases", "without plan", "ours / uniform", "worst", "dearer",
                       "by over 2 %", "annealed", "ours / annealed", "worst", "slices",
                       "of uniform", "of annealed", "search ms"});
  std::vector<const GapResult*> all;
  for (const auto& [devices, group] : by_devices(results)) {
    table.add_row(summary_row(with_separators(devices), group));
    all.insert(all.end(), group.begin(), group.end());
  }
  table.add_row(summary_row("all", all));
  return table.str();
}

std::string stages_table(std::span<const GapResult> results) {
  const auto groups = by_devices(results);
  std::vector<std::string> header = {"after"};
  for (const auto& [devices, group] : groups) header.push_back(with_separators(devices));
  header.insert(header.end(), {"all", "found the best"});
  MarkdownTable table(header);
  // Costs after the stage of the row; before the first plan, none.
  std::map<const GapResult*, double> costs;
  for (const SearchStage stage : all_search_stages()) {
    std::int64_t found_the_best = 0;
    bool any = false;
    for (const GapResult& result : results) {
      const auto cost = result.stages.find(stage);
      if (cost == result.stages.end() || !result.uniform) continue;
      any = true;
      costs[&result] = cost->second;
      if (stage == result.stages.rbegin()->first) ++found_the_best;
    }
    if (!any) continue;
    std::vector<std::string> row = {std::string(name_of(stage))};
    std::vector<double> all;
    for (const auto& [devices, group] : groups) {
      std::vector<double> ratios;
      for (const GapResult* result : group) {
        const auto cost = costs.find(result);
        if (cost != costs.end()) ratios.push_back(cost->second / result->uniform->cost_ms);
      }
      row.push_back(three_decimals(ratios.empty() ? kNone : geometric_mean(ratios)));
      all.insert(all.end(), ratios.begin(), ratios.end());
    }
    row.push_back(three_decimals(geometric_mean(all)));
    row.push_back(with_separators(found_the_best));
    table.add_row(row);
  }
  return table.str();
}

std::string gap_chart(std::span<const GapResult> results) {
  std::vector<LineChart> panels = {
      {.title = "Our cost over that of another plan",
       .x_label = "devices",
       .y_label = "cost ratio",
       .series = {{"over uniform", {}}, {"worst", {}}, {"over annealed", {}}, {"worst", {}}}},
      {.title = "Slices",
       .x_label = "devices",
       .y_label = "slices (mean)",
       .series = {{"ours", {}}, {"uniform", {}}, {"annealed", {}}}},
      {.title = "Time of the search",
       .x_label = "devices",
       .y_label = "ms (mean)",
       .series = {{"ours", {}}, {"uniform", {}}, {"annealing", {}}}}};
  constexpr std::array kPlans = {&GapResult::ours, &GapResult::uniform, &GapResult::annealed};
  for (const auto& [devices, group] : by_devices(results)) {
    const double x = devices;
    const Ratios uniform(group, &GapResult::uniform);
    const Ratios annealed(group, &GapResult::annealed);
    auto& ratios = panels[0].series;
    ratios[0].points.emplace_back(x, uniform.geometric_mean());
    ratios[1].points.emplace_back(x, uniform.worst());
    ratios[2].points.emplace_back(x, annealed.geometric_mean());
    ratios[3].points.emplace_back(x, annealed.worst());
    for (std::size_t i = 0; i < kPlans.size(); ++i) {
      panels[1].series[i].points.emplace_back(
          x, mean_of(group, kPlans[i], [](const GapPlan& plan) { return 1.0 * plan.slices; }));
      panels[2].series[i].points.emplace_back(
          x, mean_of(group, kPlans[i], [](const GapPlan& plan) { return plan.time.wall_ms; }));
    }
  }
  return draw(panels);
}

void add_to_report(JsonReport& report, const GapResult& result, int threads) {
  if (!result.ours) return;
  std::string name = result.name;
  std::ranges::replace(name, ' ', '_');
  Measurement measurement{.name = "gap/" + name + "/devices:" + std::to_string(result.devices),
                          .rounds = {result.ours->time},
                          .threads = threads,
                          .figures = {{"tables", result.tables}},
                          .label = ""};
  const auto add = [&](const std::string& who, const std::optional<GapPlan>& plan) {
    if (!plan) return;
    measurement.figures[who + "_cost_ms"] = plan->cost_ms;
    measurement.figures[who + "_slices"] = plan->slices;
    measurement.figures[who + "_empty_devices"] = plan->empty_devices;
    measurement.figures[who + "_search_ms"] = plan->time.wall_ms;
  };
  add("our", result.ours);
  add("uniform", result.uniform);
  add("annealed", result.annealed);
  for (std::size_t i = 0; result.annealed && i < kMoves; ++i) {
    const std::string move(name_of(static_cast<Move>(i)));
    measurement.figures["tried_" + move] = static_cast<double>(result.annealing.tried[i]);
    measurement.figures["accepted_" + move] = static_cast<double>(result.annealing.accepted[i]);
    measurement.figures["improved_" + move] = static_cast<double>(result.annealing.improved[i]);
  }
  report.add(measurement);
}

}  // namespace neuroshard::bench
