#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "bench/commands.h"
#include "bench/inputs/plan_cases.h"
#include "bench/markdown_table.h"
#include "bench/plans/plan_accuracy.h"
#include "neuroshard/planner.h"
#include "neuroshard/task_models.h"
#include "neuroshard/weights.h"
#include "tools/command_line/options.h"

namespace neuroshard::bench {
namespace {

constexpr const char* kAccuracyFooter =
    R"(Compares the costs that the weights predict for whole plans with the analytic costs of
these plans (docs/analytic_costs.md). Some plans halve every table to at most 4, 8, ... 256
columns and place the parts greedily, on all devices and on half of them; the others are the
search's, with replicas and row blocks. Tasks are of public models' tables, and random ones of
small and large tables. Cases that do not fit are left out. MAPE is the mean of
|predicted - analytic| / analytic, bias the mean of (predicted - analytic) / analytic; then come
the least, 5 %, median, 95 % and largest ratio of the two. The next columns say which term is off:
the mean of its predicted - analytic, for the device that costs most, divided by the analytic cost
of the plan. The last one is the geometric mean of the plans' analytic costs: with other weights
the search finds other plans of the same tasks.

Examples:
  nsbench accuracy
  nsbench accuracy --hardware h100
  nsbench accuracy --weight-type fp16
  nsbench accuracy --devices 8,20,64 --no-search --weights my_gpu.safetensors)";

struct AccuracyOptions {
  std::string data = "bench/data/table_sets";
  std::string weights = "builtin";
  std::string hardware{kDefaultHardware};
  std::vector<int> devices = {2,  4,  6,  8,   12,  16,  20,  24,  32,  40,
                              48, 64, 96, 128, 200, 256, 384, 512, 768, 1024};
  double memory_gib = 40.0;
  int random_tasks = 10;
  std::uint64_t seed = 1;
  bool no_search = false;
  std::string effort = "default";
  std::string weight_type = "fp32";
};

/// All types of weights in turn.
constexpr const char* kMixedTypes = "mixed";

void set_weight_types(Task& task, const std::string& name) {
  const auto types = all_weight_types();
  for (std::size_t t = 0; t < task.tables.size(); ++t) {
    task.tables[t].memory.weight_type =
        name == kMixedTypes ? types[t % types.size()] : weight_type_from_name(name);
  }
}

std::string signed_percent(double share) {
  char text[32];
  (void)std::snprintf(text, sizeof text, "%+.1f %%", 100.0 * share);
  return text;
}

void add_row(MarkdownTable& table, int devices, const std::string& plans,
             const PlanAccuracy& accuracy) {
  if (accuracy.plans() == 0) return;
  const PlanAccuracy::TermErrors terms = accuracy.term_errors();
  table.add_row({devices > 0 ? std::to_string(devices) : "all", plans,
                 std::to_string(accuracy.plans()), percent(accuracy.mape()),
                 signed_percent(accuracy.bias()), three_digits(accuracy.least_ratio()),
                 three_digits(accuracy.ratio_at(5)), three_digits(accuracy.median_ratio()),
                 three_digits(accuracy.ratio_at(95)), three_digits(accuracy.largest_ratio()),
                 signed_percent(terms.compute), signed_percent(terms.forward),
                 signed_percent(terms.backward), signed_percent(terms.ids),
                 signed_percent(terms.replicas), three_decimals(accuracy.mean_analytic_ms())});
}

void run_accuracy(const AccuracyOptions& options, std::ostream& out) {
  const CostModels models = options.weights == "builtin" ? builtin_weights(options.hardware)
                                                         : load_weights(options.weights);
  const Planner planner(models, {.effort = effort_from_name(options.effort), .threads = 1});
  MarkdownTable table({"devices", "plans of", "plans", "MAPE", "bias", "least ratio", "5 %",
                       "median", "95 %", "largest ratio", "compute", "forward", "backward", "ids",
                       "replicas", "analytic ms"});
  PlanAccuracy all_uniform(options.hardware);
  PlanAccuracy all_searched(options.hardware);
  for (const int devices : options.devices) {
    Task of_devices{.devices = devices};
    const auto backend =
        make_cpu_backend(models_for(models, comm_setting(of_devices, hardware_network(models))));
    const auto add_rows = [&](std::vector<PlanCase> cases, const std::string& tables) {
      PlanAccuracy uniform(options.hardware);
      PlanAccuracy searched(options.hardware);
      for (PlanCase& one : cases) {
        Task& task = one.task;
        set_weight_types(task, options.weight_type);
        for (const Plan& plan : uniform_width_plans(task)) {
          uniform.add(*backend, task, plan);
          all_uniform.add(*backend, task, plan);
        }
        if (options.no_search) continue;
        if (const PlanResult result = planner.plan(task); result.plan) {
          searched.add(*backend, task, *result.plan);
          all_searched.add(*backend, task, *result.plan);
        }
      }
      add_row(table, devices, tables + ", uniform widths", uniform);
      add_row(table, devices, tables + ", search", searched);
    };
    add_rows(table_set_cases(
                 {.folder = options.data, .devices = {devices}, .memory_gib = options.memory_gib}),
             "public");
    add_rows(wide_cases(options.random_tasks, {devices}, options.memory_gib, options.seed),
             "random");
  }
  add_row(table, 0, "uniform widths", all_uniform);
  add_row(table, 0, "search", all_searched);
  out << table.str();
}

}  // namespace

void add_accuracy_command(CLI::App& program, Action& chosen) {
  const auto options = std::make_shared<AccuracyOptions>();
  CLI::App* command = program.add_subcommand(
      "accuracy", "How well weights predict whole plans of public models' tables");
  command->footer(kAccuracyFooter);
  const command_line::OptionGroup general(*command);
  general.with_default("--data", "FOLDER", options->data, "Folder of task files");
  general.with_default("--weights", "FILE", options->weights, "Weights file, or 'builtin'");
  general.with_default("--hardware", "NAME", options->hardware,
                       "Hardware of built-in weights, and of the datasheets that price plans");
  general.with_default("--devices", options->devices, "Device counts")
      ->delimiter(',')
      ->check(CLI::Range(1, kMaxDevices));
  general.with_default("--memory-gb", options->memory_gib, "GiB of a device");
  general.with_default("--random-tasks", options->random_tasks, "Random tasks per device count")
      ->check(CLI::Range(0, 100000));
  general.with_default("--seed", options->seed, "Seed of random tasks");
  general.with_default("--effort", options->effort, "Effort of the search");
  general.with_default(
      "--weight-type", "NAME", options->weight_type,
      "Weights of all tables, or '" + std::string(kMixedTypes) + "': all types in turn");
  general.flag("--no-search", options->no_search, "Leave out the search's plans");
  command_line::run_if_given(*command, chosen, options, run_accuracy);
}

}  // namespace neuroshard::bench
