#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "bench/commands.h"
#include "bench/common_options.h"
#include "bench/inputs/plan_cases.h"
#include "bench/machine/machine_context.h"
#include "bench/markdown_table.h"
#include "bench/statistics.h"
#include "bench/stopwatch.h"
#include "core/plans/touched_gradients.h"
#include "neuroshard/error.h"
#include "neuroshard/planner.h"
#include "neuroshard/weights.h"
#include "tools/charts/bar_chart.h"
#include "tools/command_line/options.h"
#include "weights/collection/analytic_plan_cost.h"
#include "weights/files/atomic_file.h"

namespace neuroshard::bench {
namespace {

constexpr const char* kCutsFooter =
    R"(Compares plans that may replicate tables and cut them by rows with plans by columns alone,
judged by analytic costs (docs/analytic_costs.md: each device is an A100), ids and all-reduces
included. Ratios are cost by columns divided by cost of any cuts; times are CPU times of both, on
one thread. With --replica-gradients touched, each task is also planned with replicas whose
devices gather the touched rows in place of an all-reduce of all rows: once for all tables, and
once for those for which that moves fewer bytes.

Examples:
  nsbench cuts
  nsbench cuts --random-tasks 10
  nsbench cuts --devices 8,64 --effort fast --svg cuts.svg
  nsbench cuts --devices 8,16,64 --replica-gradients touched)";

struct CutsOptions {
  TableSetOptions cases{.devices = {8, 16, 32, 64, 128}};
  std::string effort = "default";
  std::string svg;
  std::string replica_gradients = "dense";
  int random_tasks = 0;
  std::uint64_t seed = 1;
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

/// Ratios of dense gradients of all replicas over gathered ones of all, over those of each table
/// that move fewer bytes, and over the cheapest of the three plans.
struct GatherGains {
  std::vector<double> touched;
  std::vector<double> fewer;
  std::vector<double> cheapest;
  std::vector<double> of_columns;  ///< Plans by columns over the cheapest.
};

/// Tables whose devices move fewer bytes if they gather touched rows than in an all-reduce, which
/// moves twice the dense gradients.
void gather_where_fewer_bytes_move(Task& task) {
  const TouchedGradients touched(task);
  for (Table& table : task.tables) {
    const double dense_bytes = 4.0 * static_cast<double>(table.rows) * table.dim;
    if (touched.gathered_bytes(table) >= 2.0 * dense_bytes) {
      table.replica_gradients = ReplicaGradients::kDense;
    }
  }
}

/// Plans with dense and with gathered gradients side by side.
class GatherComparison {
 public:
  /// `dense`: the plan for `task`; `columns`: the one by columns alone. `by_any`: plans with
  /// replicas.
  void add(const std::string& name, Task task, const PricedPlan& dense,
           const std::optional<PricedPlan>& columns, const Planner& by_any) {
    for (Table& table : task.tables) table.replica_gradients = ReplicaGradients::kTouched;
    const std::optional<PricedPlan> touched = priced_plan(by_any, task);
    gather_where_fewer_bytes_move(task);
    const std::optional<PricedPlan> fewer = priced_plan(by_any, task);
    if (!touched || !fewer) return;
    GatherGains& gains = gains_[task.devices];
    gains.touched.push_back(dense.analytic_ms / touched->analytic_ms);
    gains.fewer.push_back(dense.analytic_ms / fewer->analytic_ms);
    gains.cheapest.push_back(std::max({1.0, gains.touched.back(), gains.fewer.back()}));
    if (columns) {
      gains.of_columns.push_back(gains.cheapest.back() * columns->analytic_ms / dense.analytic_ms);
    }
    const auto gathered = std::ranges::count_if(fewer->plan.replicas, [&](int table) {
      return task.tables[static_cast<std::size_t>(table)].replica_gradients ==
             ReplicaGradients::kTouched;
    });
    list_.add_row({name, std::to_string(task.devices), three_digits(dense.analytic_ms),
                   three_decimals(gains.touched.back()), three_decimals(gains.fewer.back()),
                   three_decimals(dense.predicted_ms / fewer->predicted_ms),
                   std::to_string(dense.plan.replicas.size()),
                   std::to_string(touched->plan.replicas.size()),
                   std::to_string(fewer->plan.replicas.size()), std::to_string(gathered)});
  }

  [[nodiscard]] std::string text() const {
    MarkdownTable all({"devices", "cases", "dense / touched", "least", "most",
                       "dense / fewer bytes", "least", "most", "dense / cheapest",
                       "columns / cheapest"});
    const auto add_row = [&](const std::string& name, const GatherGains& gains) {
      std::vector<std::string> row = {name, std::to_string(gains.touched.size())};
      for (const std::vector<double>* ratios : {&gains.touched, &gains.fewer}) {
        row.push_back(three_decimals(geometric_mean(*ratios)));
        row.push_back(three_decimals(std::ranges::min(*ratios)));
        row.push_back(three_decimals(std::ranges::max(*ratios)));
      }
      row.push_back(three_decimals(geometric_mean(gains.cheapest)));
      row.push_back(gains.of_columns.empty() ? "-"
                                             : three_decimals(geometric_mean(gains.of_columns)));
      all.add_row(row);
    };
    GatherGains together;
    for (const auto& [devices, gains] : gains_) {
      add_row(std::to_string(devices), gains);
      for (auto ratios : {&GatherGains::touched, &GatherGains::fewer, &GatherGains::cheapest,
                          &GatherGains::of_columns}) {
        const std::vector<double>& more = gains.*ratios;
        (together.*ratios).insert((together.*ratios).end(), more.begin(), more.end());
      }
    }
    if (!together.touched.empty()) add_row("all", together);
    return all.str() + '\n' + list_.str();
  }

 private:
  std::map<int, GatherGains> gains_;
  MarkdownTable list_{{"case", "devices", "dense ms", "dense / touched", "dense / fewer bytes",
                       "predicted", "replicas, dense", "touched", "fewer bytes",
                       "of these gathered"}};
};

/// Plans by columns and with any cuts side by side.
class CutsComparison {
 public:
  void add(const PlanCase& one, const PricedPlan& any, const std::optional<PricedPlan>& columns) {
    const int devices = one.task.devices;
    const auto blocks = std::ranges::count_if(
        any.plan.slices, [&](const TableSlice& slice) { return is_row_block(one.task, slice); });
    std::vector<std::string> row = {one.name,
                                    std::to_string(devices),
                                    "-",
                                    three_digits(any.analytic_ms),
                                    "-",
                                    "-",
                                    std::to_string(any.plan.replicas.size()),
                                    std::to_string(blocks),
                                    "-"};
    if (columns) {
      Gains& of = gains_[devices];
      of.cost.push_back(columns->analytic_ms / any.analytic_ms);
      of.predicted.push_back(columns->predicted_ms / any.predicted_ms);
      of.time.push_back(any.cpu_ms / columns->cpu_ms);
      by_set_[one.name][devices] = of.cost.back();
      row[2] = three_digits(columns->analytic_ms);
      row[4] = three_decimals(of.cost.back());
      row[5] = three_decimals(of.predicted.back());
      row[8] = three_digits(of.time.back());
    }
    list_.add_row(row);
  }

  [[nodiscard]] bool has_plans_by_columns() const { return !gains_.empty(); }

  [[nodiscard]] std::string text() const {
    MarkdownTable all({"devices", "cases", "columns / any", "least", "most", "predicted",
                       "CPU time, any / columns"});
    const auto add_row = [&](const std::string& name, const Gains& of) {
      all.add_row(
          {name, std::to_string(of.cost.size()), three_decimals(geometric_mean(of.cost)),
           three_decimals(std::ranges::min(of.cost)), three_decimals(std::ranges::max(of.cost)),
           three_decimals(geometric_mean(of.predicted)), three_digits(geometric_mean(of.time))});
    };
    Gains together;
    for (const auto& [devices, of] : gains_) {
      add_row(std::to_string(devices), of);
      for (auto ratios : {&Gains::cost, &Gains::predicted, &Gains::time}) {
        const std::vector<double>& more = of.*ratios;
        (together.*ratios).insert((together.*ratios).end(), more.begin(), more.end());
      }
    }
    add_row("all", together);
    return all.str() + '\n' + list_.str();
  }

  [[nodiscard]] charts::BarChart chart() const {
    charts::BarChart chart{.title = "Analytic cost of plans by columns over that of any cuts",
                           .y_label = "columns / any",
                           .groups = {},
                           .bars = {}};
    for (const auto& [devices, of] : gains_) {
      charts::Bars bars{.name = std::to_string(devices) + " devices", .values = {}};
      for (const auto& [set, ratios] : by_set_) {
        const auto found = ratios.find(devices);
        bars.values.push_back(found == ratios.end() ? std::numeric_limits<double>::quiet_NaN()
                                                    : found->second);
      }
      chart.bars.push_back(std::move(bars));
    }
    for (const auto& [set, ratios] : by_set_) chart.groups.push_back(set);
    return chart;
  }

 private:
  std::map<int, Gains> gains_;
  std::map<std::string, std::map<int, double>> by_set_;
  MarkdownTable list_{{"case", "devices", "columns ms", "any ms", "columns / any", "predicted",
                       "replicas", "row blocks", "CPU time, any / columns"}};
};

void run_cuts(const CutsOptions& options, std::ostream& out) {
  const auto planner_of = [&](Cuts cuts) {
    return Planner(builtin_weights(),
                   {.effort = effort_from_name(options.effort), .cuts = cuts, .threads = 1});
  };
  const Planner by_columns = planner_of(Cuts::kColumns);
  const Planner by_any = planner_of(Cuts::kAny);
  const bool gather =
      replica_gradients_from_name(options.replica_gradients) == ReplicaGradients::kTouched;
  CutsComparison cuts;
  GatherComparison gathers;
  for (const PlanCase& one : cases_of(options.cases, options.random_tasks, options.seed)) {
    const std::optional<PricedPlan> any = priced_plan(by_any, one.task);
    if (!any) continue;
    const std::optional<PricedPlan> columns = priced_plan(by_columns, one.task);
    if (gather) gathers.add(one.name, one.task, *any, columns, by_any);
    cuts.add(one, *any, columns);
  }
  if (!cuts.has_plans_by_columns()) {
    throw Error("no table set has a plan by columns; give more memory");
  }
  out << context_block(machine_context()) << '\n' << cuts.text();
  if (gather) out << '\n' << gathers.text();
  if (!options.svg.empty()) write_file(options.svg, charts::draw(cuts.chart()));
}

}  // namespace

void add_cuts_command(CLI::App& program, Action& chosen) {
  const auto options = std::make_shared<CutsOptions>();
  CLI::App* command = program.add_subcommand("cuts", "Gain of replicas and row blocks");
  command->footer(kCutsFooter);
  add_table_set_options(*command, options->cases);
  const command_line::OptionGroup general(*command);
  general.with_default("--effort", options->effort, "Effort of the search");
  general.with_default("--replica-gradients", options->replica_gradients,
                       "dense, or touched: compare both");
  general
      .with_default("--random-tasks", options->random_tasks,
                    "Random tasks per device count, in place of the table sets: small and large "
                    "tables, one dim in eight no power of two")
      ->check(CLI::Range(0, 100000));
  general.with_default("--seed", options->seed, "Seed of random tasks");
  general.add("--svg", "FILE", options->svg, "Draw the ratios by set and devices");
  command_line::run_if_given(*command, chosen, options, run_cuts);
}

}  // namespace neuroshard::bench
