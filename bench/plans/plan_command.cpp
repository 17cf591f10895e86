#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <ostream>

#include "bench/commands.h"
#include "bench/common_options.h"
#include "bench/inputs/random_comm.h"
#include "bench/json_report.h"
#include "bench/plans/plan_latency.h"
#include "bench/plans/plan_report.h"
#include "neuroshard/error.h"
#include "tools/command_line/options.h"
#include "weights/files/atomic_file.h"

namespace neuroshard::bench {
namespace {

constexpr const char* kPlanFooter =
    R"(Latency percentiles are over tasks, each with its median over the rounds. 'planned' counts
the tasks that got a plan; 'spread' is (slowest - fastest round) / median. 'vs published' is the
geometric mean over tasks of the published search's seconds, on two cores, divided by ours. CPU
time is that of all threads, and does not count what other programs on the machine take.

Examples:
  nsbench plan                                   all tasks with published plans
  nsbench plan --sets 4gpu_dim128 --no-reuse
  nsbench plan --sets 16gpu_dim128 --searches default,as_published
  nsbench plan --concurrency 1,2,8 --threads 1
  nsbench plan --task tools/examples/jumbo_128gpu.json)";

struct PlanOptions {
  CommonOptions common;
  SetOptions sets;
  PlanMeasurement measurement;
  std::vector<std::string> backends = default_backends();
  std::vector<int> threads = default_thread_counts();
  std::vector<int> concurrency = {1};
  std::size_t batch = 0;
  bool no_reuse = false;
  std::vector<std::string> searches = {all_searches().front()};
  std::string task_file;
  int devices = 0;
  double memory_gb = 0.0;
};

std::vector<PlanConfig> configs_of(const PlanOptions& options) {
  std::vector<PlanConfig> configs;
  for (const std::string& backend : options.backends) {
    for (const std::string& search : options.searches) {
      if (options.no_reuse) {
        configs.push_back({.backend = backend, .reuse_work = false, .search = search});
      }
      for (const int threads : options.threads) {
        for (const int callers : options.concurrency) {
          configs.push_back(
              {.backend = backend, .threads = threads, .search = search, .concurrency = callers});
        }
        if (options.batch > 0) {
          configs.push_back(
              {.backend = backend, .threads = threads, .search = search, .batch = options.batch});
        }
      }
    }
  }
  return configs;
}

TaskSet set_of_file(const PlanOptions& options) {
  return {.name = std::filesystem::path(options.task_file).stem().string(),
          .tasks = {load_whole_task(options.task_file, options.devices, options.memory_gb)},
          .published = {std::nullopt}};
}

bool no_smaller(const SearchOptions& a, const SearchOptions& b) {
  return a.beam_width >= b.beam_width && a.candidates >= b.candidates &&
         a.max_splits >= b.max_splits && a.grid_steps >= b.grid_steps;
}

std::vector<TaskSet> load_sets(const PlanOptions& options) {
  if (!options.task_file.empty()) return {set_of_file(options)};
  const GoldenFolder folder(options.common.data);
  const bool published_only = options.sets.names.empty();
  std::vector<TaskSet> sets;
  for (const std::string& name :
       published_only ? folder.published_set_names() : options.sets.names) {
    sets.push_back(folder.load_set(name, options.sets.max_tasks, published_only));
    // With other models or a smaller search, neither costs nor times can be compared.
    if (options.common.weights == "checkpoints" && no_smaller(options.measurement.search, {}))
      continue;
    std::fill(sets.back().published.begin(), sets.back().published.end(), std::nullopt);
  }
  if (sets.empty()) throw Error(options.common.data + ": has no published plans; say --sets");
  return sets;
}

void run_plan(const PlanOptions& options, std::ostream& out) {
  CostModels models = load_models(options.common);
  const std::vector<TaskSet> sets = load_sets(options);
  bool random_comm = false;
  if (!options.task_file.empty()) {
    random_comm = complete_with_random_comm(models, sets.front().tasks.front().devices);
  }
  const std::vector<PlanConfig> configs = configs_of(options);
  Context context = machine_context();
  context.emplace_back("search", text_of(options.measurement.search));
  context.emplace_back("rounds", std::to_string(options.measurement.rounds));
  out << context_block(context) << std::flush;
  if (random_comm) {
    out << "# There is no communication model for so many devices: random weights stand in for "
           "it.\n";
  }
  JsonReport report;
  std::vector<std::vector<PlanSummary>> summaries;
  for (const TaskSet& set : sets) {
    std::vector<PlanSummary>& rows = summaries.emplace_back();
    for (const PlanTimes& times : measure_plans(models, configs, set, options.measurement)) {
      rows.push_back(summarize(times, set));
      add_to_report(report, times, rows.back(), set);
    }
    out << "\n## " << set.name << ": " << set.tasks.size() << " tasks, "
        << set.tasks.front().devices << " devices\n\n"
        << plan_table(rows) << std::flush;
  }
  if (sets.size() > 1) out << "\n## All sets together\n\n" << plan_table(combined(summaries));
  if (!options.common.json.empty()) write_file(options.common.json, report.str(context));
}

}  // namespace

void add_plan_command(CLI::App& program, Action& chosen) {
  const auto options = std::make_shared<PlanOptions>();
  CLI::App* command = program.add_subcommand("plan", "Latency and throughput of planning");
  command->footer(kPlanFooter);
  add_common_options(*command, options->common);
  add_set_options(*command, options->sets, "tasks that have published plans");
  const command_line::OptionGroup general(*command);
  const auto list = [&](const char* name, auto& values, const char* description) {
    return general.with_default(name, values, description)->delimiter(',');
  };
  list("--backends", options->backends, "Backends");
  list("--threads", options->threads, "Threads of one plan")->check(CLI::Range(1, 1024));
  list("--concurrency", options->concurrency, "Callers at the same time")
      ->check(CLI::Range(1, 1024));
  general.add("--batch", options->batch, "Also time plan_batch on this many tasks per call");
  general.flag("--no-reuse", options->no_reuse,
               "Also time one thread that computes every placement anew");
  list("--searches", options->searches,
       "Efforts, or published; as_published is published without memory splits, which gives up "
       "where the published program does")
      ->check(CLI::IsMember(all_searches()));
  general.with_default("--rounds", options->measurement.rounds, "Passes over each set")
      ->check(CLI::Range(1, 10000));
  general
      .with_default("--check", options->measurement.checked_by_scalar,
                    "Tasks of each set that the scalar backend plans too, as a check")
      ->check(CLI::NonNegativeNumber);
  general.add("--task", "FILE", options->task_file, "A task file instead of sets");
  general.add("--devices", options->devices, "Devices, for --task");
  general.add("--memory-gb", options->memory_gb, "GiB of a device, for --task");
  add_search_options(*command, options->measurement.search);
  command_line::run_if_given(*command, chosen, options, run_plan);
}

}  // namespace neuroshard::bench
