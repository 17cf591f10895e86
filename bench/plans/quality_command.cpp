#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>
#include <memory>
#include <ostream>

#include "bench/commands.h"
#include "bench/common_options.h"
#include "bench/json_report.h"
#include "bench/markdown_table.h"
#include "bench/plans/quality.h"
#include "neuroshard/error.h"
#include "neuroshard/hardware.h"
#include "neuroshard/policy_file.h"
#include "tools/charts/bar_chart.h"
#include "tools/command_line/options.h"
#include "weights/collection/analytic_plan_cost.h"
#include "weights/files/atomic_file.h"

namespace neuroshard::bench {
namespace {

using charts::BarChart;
using charts::Bars;

constexpr const char* kQualityFooter =
    R"(Costs are those that the cost models predict; how good the models are is another question.
'mean cost' is over the tasks that the algorithm found a plan for. 'relative cost' is the
geometric mean, over the tasks that both found a plan for, of its cost divided by neuroshard's.
The rows 'published' are the published search's own plans and times, from another machine.

Examples:
  nsbench quality
  nsbench quality --sets 4gpu_dim128,8gpu_dim128 --tasks 20 --svg quality.svg
  nsbench quality --max-dims 4,8,16,32,64,128 --policy dreamshard.safetensors
  nsbench quality --tasks 30 --svg quality.svg --chart neuroshard --chart uniform)";

/// Sets that are drawn in place of those of files.
struct DrawnSets {
  std::vector<int> max_dims{};  ///< Empty: none are drawn.
  std::vector<int> devices{4, 8};
  std::vector<int> tables{};  ///< Least and most of a task; empty: as published.
  double memory_gib = 4.0;
};

struct QualityOptions {
  CommonOptions common;
  SetOptions sets;
  DrawnSets drawn;
  PlannerOptions planner;
  int random_runs = 5;
  std::vector<std::string> policies;
  std::string prices = "predicted";
  std::string svg;
  std::vector<std::string> charted;  ///< Algorithms; empty: all.
};

std::string quality_table(const std::vector<QualityRow>& rows) {
  MarkdownTable table(
      {"algorithm", "success rate", "mean cost ms", "relative cost", "mean search ms"});
  for (const QualityRow& row : rows) {
    table.add_row({row.name, percent(row.success), three_digits(row.mean_cost_ms),
                   three_digits(row.relative_cost), three_digits(row.mean_search_ms)});
  }
  return table.str();
}

void add_to_report(JsonReport& report, const QualityRow& row, const TaskSet& set) {
  std::string name = row.name;
  std::replace(name.begin(), name.end(), ' ', '_');
  std::erase(name, ',');
  // Only a mean is known of an algorithm's time: wall time, on as many cores as it took.
  report.add({.name = "quality/" + set.name + "/" + name,
              .rounds = {{row.mean_search_ms, row.mean_search_ms}},
              .operations = static_cast<std::int64_t>(set.tasks.size()),
              .figures = {{"success_rate", row.success},
                          {"mean_cost_ms", row.mean_cost_ms},
                          {"relative_cost", row.relative_cost}},
              .label = ""});
}

void add_to_chart(BarChart& chart, const QualityRow& row, std::size_t sets_before) {
  auto bars = std::find_if(chart.bars.begin(), chart.bars.end(),
                           [&](const Bars& b) { return b.name == row.name; });
  if (bars == chart.bars.end()) bars = chart.bars.insert(bars, {row.name, {}});
  bars->values.resize(sets_before, std::numeric_limits<double>::quiet_NaN());
  bars->values.push_back(row.relative_cost);
}

BarChart empty_chart(const std::string& prices) {
  const std::string whose = prices == "analytic" ? "Analytic" : "Predicted";
  return {.title = whose + " cost of the plans, relative to neuroshard",
          .y_label = "relative cost (geometric mean)",
          .groups = {},
          .bars = {}};
}

/// The label of a set in the chart: its devices, if they tell the sets apart.
std::string chart_label(const TaskSet& set, const std::vector<TaskSet>& sets) {
  const int devices = set.tasks.front().devices;
  const auto alike = [devices](const TaskSet& other) {
    return other.tasks.front().devices == devices;
  };
  return std::ranges::count_if(sets, alike) > 1 ? set.name : std::to_string(devices) + " devices";
}

void require_rows(const std::vector<std::string>& names, const std::vector<QualityRow>& rows) {
  for (const std::string& name : names) {
    if (std::ranges::find(rows, name, &QualityRow::name) != rows.end()) continue;
    throw Error("--chart: no algorithm is called '" + name + "'; give names of the table");
  }
}

std::vector<TaskSet> task_sets(const QualityOptions& options) {
  const GoldenFolder folder(options.common.data);
  const DrawnSets& drawn = options.drawn;
  std::vector<TaskSet> sets;
  for (const int devices : drawn.max_dims.empty() ? std::vector<int>{} : drawn.devices) {
    // As published: 15 of the 16 GiB of 4 devices.
    constexpr double kFilled = 15.0 / 16.0;
    TaskDrawOptions draw{.devices = devices,
                         .memory_bytes = bytes_from_gib(kFilled * devices * drawn.memory_gib)};
    if (!drawn.tables.empty()) {
      draw.min_tables_per_device = static_cast<double>(drawn.tables.front()) / devices;
      draw.max_tables_per_device = (drawn.tables.back() + 1.0) / devices;
    }
    for (const int max_dim : drawn.max_dims) {
      draw.max_dim = max_dim;
      sets.push_back(folder.draw_set(draw, std::min<std::size_t>(100, options.sets.max_tasks),
                                     drawn.memory_gib));
    }
  }
  if (!sets.empty()) return sets;
  for (const std::string& name :
       options.sets.names.empty() ? folder.set_names() : options.sets.names) {
    sets.push_back(folder.load_set(name, options.sets.max_tasks, /*published_only=*/false));
  }
  return sets;
}

QualityRuns quality_runs(const QualityOptions& options) {
  QualityRuns runs{.options = options.planner, .random_runs = options.random_runs};
  for (const std::string& file : options.policies) {
    runs.policies.push_back(std::make_shared<const PlacementPolicy>(load_policy(file)));
  }
  if (options.prices == "analytic") {
    runs.price = [&machine = hardware_named(kDefaultHardware)](const Task& task, const Plan& plan) {
      return analytic_plan_cost(machine.gpu, machine.network, task, plan).cost_ms;
    };
  }
  return runs;
}

void run_quality(const QualityOptions& options, std::ostream& out) {
  const CostModels models = load_models(options.common);
  const std::vector<TaskSet> sets = task_sets(options);
  const QualityRuns quality = quality_runs(options);
  Context context = machine_context();
  context.emplace_back("search", text_of(options.planner.search));
  context.emplace_back("threads", std::to_string(options.planner.threads));
  out << context_block(context) << std::flush;
  JsonReport report;
  context.emplace_back("prices", options.prices);
  BarChart chart = empty_chart(options.prices);
  for (const TaskSet& set : sets) {
    const std::string& name = set.name;
    const std::vector<AlgorithmRuns> runs = run_algorithms(models, set, quality);
    std::vector<QualityRow> rows;
    for (const AlgorithmRuns& algorithm : runs) {
      rows.push_back(summarize(algorithm, runs.front()));
      add_to_report(report, rows.back(), set);
      const std::vector<std::string>& charted = options.charted;
      if (charted.empty() || std::ranges::find(charted, algorithm.name) != charted.end()) {
        add_to_chart(chart, rows.back(), chart.groups.size());
      }
    }
    require_rows(options.charted, rows);
    chart.groups.push_back(chart_label(set, sets));
    out << "\n## " << name << ": " << set.tasks.size() << " tasks, " << set.tasks.front().devices
        << " devices\n\n"
        << quality_table(rows) << std::flush;
  }
  if (!options.common.json.empty()) write_file(options.common.json, report.str(context));
  if (!options.svg.empty()) write_file(options.svg, draw(chart));
}

}  // namespace

void add_quality_command(CLI::App& program, Action& chosen) {
  const auto options = std::make_shared<QualityOptions>();
  options->planner.threads = 1;
  CLI::App* command = program.add_subcommand("quality", "Costs of the plans of all algorithms");
  command->footer(kQualityFooter);
  add_common_options(*command, options->common);
  add_set_options(*command, options->sets, "all");
  const command_line::OptionGroup general(*command);
  general.with_default("--backend", options->planner.backend, "Backend");
  general.with_default("--threads", options->planner.threads, "Threads of one plan")
      ->check(CLI::Range(1, 1024));
  general.with_default("--random-runs", options->random_runs, "Seeds of the random algorithm")
      ->check(CLI::Range(1, 1000));
  general
      .add("--policy", "FILE", options->policies,
           "Policy file of dreamshard or autoshard; may be repeated. Without one, its "
           "algorithm is left out")
      ->allow_extra_args(false);
  general
      .with_default("--prices", options->prices,
                    "Costs that plans are compared by: predicted ones, or analytic ones of an A100")
      ->check(CLI::IsMember({"predicted", "analytic"}));
  const command_line::OptionGroup drawn(
      *command, "Tasks drawn from the tables of --data, in place of --sets");
  drawn.add("--max-dims", options->drawn.max_dims, "A set for each of these largest dims")
      ->delimiter(',');
  drawn.with_default("--devices", options->drawn.devices, "Device counts")->delimiter(',');
  drawn
      .add("--task-tables", options->drawn.tables,
           "Least and most tables of a task (default: 2.5 and 15 times the devices)")
      ->delimiter(',')
      ->expected(2);
  drawn.with_default("--memory-gb", options->drawn.memory_gib, "GiB of a device");
  general.add("--svg", "FILE", options->svg, "Chart of the relative costs");
  general
      .add("--chart", "NAME", options->charted,
           "An algorithm of the chart, as the table calls it; may be repeated (default: all)")
      ->allow_extra_args(false);
  add_search_options(*command, options->planner.search);
  command_line::run_if_given(*command, chosen, options, run_quality);
}

}  // namespace neuroshard::bench
