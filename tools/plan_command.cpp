#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <memory>
#include <set>
#include <span>

#include "neuroshard/error.h"
#include "neuroshard/plan_file.h"
#include "neuroshard/planner.h"
#include "tools/batch_report.h"
#include "tools/commands.h"
#include "tools/model_options.h"
#include "tools/plan_report.h"
#include "tools/progress_bar.h"
#include "tools/result_output.h"
#include "tools/search_options.h"
#include "tools/task_options.h"

namespace neuroshard::tools {
namespace {

constexpr const char* kExamples = R"(Examples:
  neuroshard plan --task tools/examples/dlrm_v2_8gpu.json
  neuroshard plan --task my_model.json --devices 16 --format json --output plan.json
  neuroshard plan --tables table_configs.json --tasks tasks.txt --devices 4 --memory-gb 4 \
      --format jsonl --output plans.jsonl

Formats: docs/task_format.md, docs/plan_format.md, docs/weights_format.md.
Exit codes: 0 every task has a plan; 1 some task has none, and the reason is given; 2 bad input or
usage.)";

struct PlanCommand {
  TaskOptions tasks;
  ModelOptions models;
  PlannerOptions planner;
  std::string algorithm = "neuroshard";
  std::string format = "table";
  std::string output;
  bool list_shards = false;
};

void warn(const std::string& warning, Console& console) {
  if (!warning.empty()) console.err << "neuroshard: warning: " << warning << '\n';
}

// Chunks of tasks that take about this long keep the progress bar moving and every thread, or a
// GPU, busy.
constexpr double kChunkSeconds = 0.25;

// Plans all tasks in order and hands every result to `take(i, result)`.
template <typename Take>
void plan_in_chunks(const Planner& planner, std::span<const Task> tasks, ProgressBar& progress,
                    const Take& take) {
  using Clock = std::chrono::steady_clock;
  std::size_t chunk = 16;
  for (std::size_t first = 0; first < tasks.size();) {
    const std::size_t count = std::min(chunk, tasks.size() - first);
    const Clock::time_point start = Clock::now();
    const std::vector<PlanResult> results = planner.plan_batch(tasks.subspan(first, count));
    if (std::chrono::duration<double>(Clock::now() - start).count() < kChunkSeconds) chunk *= 2;
    for (std::size_t i = 0; i < count; ++i) take(first + i, results[i]);
    first += count;
    progress.update(first);
  }
}

// One task gets a page, or a document, of its own.
int plan_one(const PlanCommand& command, OutputFormat format, const LoadedTasks& loaded,
             const Planner& planner, const std::string& weights, Console& console) {
  ResultOutput output(console, command.output);
  const Task& task = loaded.tasks[0];
  const PlanResult result = planner.plan(task);
  warn(result.stats.warning, console);
  if (format == OutputFormat::kJsonl || !result.plan) {
    if (!result.plan) {
      console.err << "neuroshard: no plan: " << loaded.titles[0] << ": "
                  << result.infeasible->message << '\n';
    }
    if (format == OutputFormat::kTable) return kExitInfeasible;
    output.write(plan_to_json_line(loaded.indices[0], task, result) + '\n');
  } else {
    const PlanDocument document{.task = task,
                                .plan = *result.plan,
                                .cost = result.cost,
                                .stats = &result.stats,
                                .task_name = loaded.titles[0],
                                .weights = weights,
                                .notes = plan_notes(loaded.notes, result.cost)};
    output.write(format == OutputFormat::kJson ? plan_to_json(document)
                                               : plan_page(document, output.style()));
    if (command.list_shards) output.write('\n' + shard_lists(document));
  }
  output.finish();
  return result.plan ? kExitOk : kExitInfeasible;
}

// Several get a line each.
int plan_many(const PlanCommand& command, OutputFormat format, const LoadedTasks& loaded,
              const Planner& planner, const std::string& weights, Console& console) {
  ResultOutput output(console, command.output);
  BatchReport batch;
  std::set<std::string> warnings;
  {
    Console bar_console = console;  // Lines that scroll by show progress enough.
    if (format == OutputFormat::kJsonl && command.output.empty() && console.out_is_terminal) {
      bar_console.err_is_terminal = false;
    }
    ProgressBar progress(bar_console, "planning", loaded.tasks.size());
    plan_in_chunks(planner, loaded.tasks, progress, [&](std::size_t i, const PlanResult& result) {
      const Task& task = loaded.tasks[i];
      warnings.insert(result.stats.warning);
      batch.add(loaded.indices[i], task, result);
      if (format == OutputFormat::kJsonl) {
        output.write(plan_to_json_line(loaded.indices[i], task, result) + '\n');
      }
    });
  }
  if (format == OutputFormat::kTable) {
    output.write(batch.page(weights, loaded.notes, output.style()));
  }
  output.finish();
  for (const std::string& warning : warnings) warn(warning, console);
  return batch.infeasible() == 0 ? kExitOk : kExitInfeasible;
}

int run_plan(const PlanCommand& command, Console& console) {
  const OutputFormat format = output_format_from_name(command.format);
  PlannerOptions planner_options = command.planner;
  planner_options.algorithm = algorithm_from_name(command.algorithm);
  const LoadedTasks loaded = load_tasks(command.tasks);
  const bool one = loaded.tasks.size() == 1;
  if (!one && format == OutputFormat::kJson) {
    throw Error("--format json holds one task, and there are " +
                std::to_string(loaded.tasks.size()) + "; pick one with --index, or use jsonl");
  }
  if (command.list_shards && !(one && format == OutputFormat::kTable)) {
    throw Error("--list-shards belongs to --format table and one task; json and jsonl list them");
  }
  const LoadedModels models = load_models(command.models);
  for (const Task& task : loaded.tasks) require_comm_model(models, task.devices);
  const Planner planner(models.models, planner_options);
  return (one ? plan_one : plan_many)(command, format, loaded, planner, models.origin, console);
}

}  // namespace

void add_plan_command(CLI::App& program, Action& chosen) {
  const auto options = std::make_shared<PlanCommand>();
  CLI::App* command = program.add_subcommand("plan", "Find the sharding plan of lowest cost");
  command->footer(kExamples);
  add_task_options(*command, options->tasks);
  add_model_options(*command, options->models);
  add_search_options(*command, options->planner, options->algorithm);
  add_backend_options(*command, options->planner);
  add_output_options(*command, options->format, options->output);
  command
      ->add_flag("--list-shards", options->list_shards,
                 "Also list which columns of which table go to each device (--format table)")
      ->group("Output");
  command->callback([options, &chosen] {
    chosen = [options](Console& console) { return run_plan(*options, console); };
  });
}

}  // namespace neuroshard::tools
