#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "bench/commands.h"
#include "bench/common_options.h"
#include "bench/gap_cases.h"
#include "bench/machine_context.h"
#include "bench/markdown_table.h"
#include "bench/statistics.h"
#include "bench/stopwatch.h"
#include "neuroshard/error.h"
#include "neuroshard/planner.h"
#include "neuroshard/weights.h"
#include "tools/charts/bar_chart.h"
#include "weights/collection/analytic_plan_cost.h"
#include "weights/files/atomic_file.h"

namespace neuroshard::bench {
namespace {

constexpr const char* kCutsFooter =
    R"(What plans gain that may replicate tables and cut them by rows over plans by columns alone, judged by
analytic costs (docs/analytic_costs.md: one A100 a device), ids and all-reduces included. Ratios are
cost by columns over cost of any cuts, and times CPU times of both, on one thread.

Examples:
  nsbench cuts
  nsbench cuts --devices 8,64 --effort fast --svg cuts.svg)";

struct CutsOptions {
  TableSetOptions cases{.devices = {8, 16, 32, 64, 128}};
  std::string effort = "default";
  std::string svg;
};

struct PricedPlan {
  Plan plan;
  double predicted_ms = 0.0;
  double analytic_ms = 0.0;
  double cpu_ms = 0.0;
};

std::optional<PricedPlan> priced_plan(const Planner& planner, const Task& task) {
  const Stopwatch watch;
  PlanResult result = planner.plan(task);
  const double cpu_ms = watch.elapsed().cpu_ms;
  if (!result.plan) return std::nullopt;
  if (planner.simulate(task, *result.plan).cost_ms != result.cost.cost_ms) {
    throw Error("a plan costs other than it says", ErrorKind::kBackend);
  }
  const double analytic_ms =
      analytic_plan_cost(gpu_named(kDefaultGpu), network_named(kDefaultNetwork), task, *result.plan)
          .cost_ms;
  return PricedPlan{*std::move(result.plan), result.cost.cost_ms, analytic_ms, cpu_ms};
}

/// Ratios of one number of devices.
struct Gains {
  std::vector<double> cost;
  std::vector<double> predicted;
  std::vector<double> time;
};

void run_cuts(const CutsOptions& options, std::ostream& out) {
  const auto planner_of = [&](Cuts cuts) {
    return Planner(builtin_weights(),
                   {.effort = effort_from_name(options.effort), .cuts = cuts, .threads = 1});
  };
  const Planner by_columns = planner_of(Cuts::kColumns);
  const Planner by_any = planner_of(Cuts::kAny);
  MarkdownTable list({"case", "devices", "columns ms", "any ms", "columns / any", "predicted",
                      "replicas", "row blocks", "CPU time, any / columns"});
  std::map<int, Gains> gains;
  std::map<std::string, std::map<int, double>> by_set;
  for (const GapCase& one : table_set_cases(options.cases.folder, options.cases.names,
                                            options.cases.devices, options.cases.memory_gib)) {
    const std::optional<PricedPlan> any = priced_plan(by_any, one.task);
    if (!any) continue;
    const std::optional<PricedPlan> columns = priced_plan(by_columns, one.task);
    const int devices = one.task.devices;
    const auto blocks = std::ranges::count_if(
        any->plan.slices, [&](const TableSlice& slice) { return is_row_block(one.task, slice); });
    std::vector<std::string> row = {one.name,
                                    std::to_string(devices),
                                    "-",
                                    three_digits(any->analytic_ms),
                                    "-",
                                    "-",
                                    std::to_string(any->plan.replicas.size()),
                                    std::to_string(blocks),
                                    "-"};
    if (columns) {
      Gains& of = gains[devices];
      of.cost.push_back(columns->analytic_ms / any->analytic_ms);
      of.predicted.push_back(columns->predicted_ms / any->predicted_ms);
      of.time.push_back(any->cpu_ms / columns->cpu_ms);
      by_set[one.name][devices] = of.cost.back();
      row[2] = three_digits(columns->analytic_ms);
      row[4] = three_decimals(of.cost.back());
      row[5] = three_decimals(of.predicted.back());
      row[8] = three_digits(of.time.back());
    }
    list.add_row(row);
  }
  MarkdownTable all({"devices", "cases", "columns / any", "least", "most", "predicted",
                     "CPU time, any / columns"});
  Gains together;
  const auto add_row = [&](const std::string& name, const Gains& of) {
    all.add_row(
        {name, std::to_string(of.cost.size()), three_decimals(geometric_mean(of.cost)),
         three_decimals(std::ranges::min(of.cost)), three_decimals(std::ranges::max(of.cost)),
         three_decimals(geometric_mean(of.predicted)), three_digits(geometric_mean(of.time))});
  };
  for (const auto& [devices, of] : gains) {
    add_row(std::to_string(devices), of);
    together.cost.insert(together.cost.end(), of.cost.begin(), of.cost.end());
    together.predicted.insert(together.predicted.end(), of.predicted.begin(), of.predicted.end());
    together.time.insert(together.time.end(), of.time.begin(), of.time.end());
  }
  if (together.cost.empty()) throw Error("no table set has a plan by columns; give more memory");
  add_row("all", together);
  out << context_block(machine_context()) << '\n' << all.str() << '\n' << list.str();
  if (options.svg.empty()) return;
  charts::BarChart chart{.title = "Analytic cost of plans by columns over that of any cuts",
                         .y_label = "columns / any",
                         .groups = {},
                         .bars = {}};
  for (const auto& [devices, of] : gains) {
    charts::Bars bars{.name = std::to_string(devices) + " devices", .values = {}};
    for (const auto& [set, ratios] : by_set) {
      const auto found = ratios.find(devices);
      bars.values.push_back(found == ratios.end() ? std::numeric_limits<double>::quiet_NaN()
                                                  : found->second);
    }
    chart.bars.push_back(std::move(bars));
  }
  for (const auto& [set, ratios] : by_set) chart.groups.push_back(set);
  write_file(options.svg, charts::draw(chart));
}

}  // namespace

void add_cuts_command(CLI::App& program, Action& chosen) {
  const auto options = std::make_shared<CutsOptions>();
  CLI::App* command = program.add_subcommand("cuts", "What replicas and row blocks gain");
  command->footer(kCutsFooter);
  add_table_set_options(*command, options->cases);
  command->add_option("--effort", options->effort, "Effort")->capture_default_str();
  command->add_option("--svg", options->svg, "Draw the ratios by set and devices")
      ->type_name("FILE");
  command->callback(
      [options, &chosen] { chosen = [options](std::ostream& out) { run_cuts(*options, out); }; });
}

}  // namespace neuroshard::bench
