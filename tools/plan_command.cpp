#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <memory>
#include <set>
#include <span>

#include "core/fingerprint.h"
#include "core/table_kind.h"
#include "neuroshard/error.h"
#include "neuroshard/plan_file.h"
#include "neuroshard/planner.h"
#include "neuroshard/version.h"
#include "neuroshard/weights.h"
#include "tools/batch_report.h"
#include "tools/commands.h"
#include "tools/model_options.h"
#include "tools/plan_report.h"
#include "tools/progress_bar.h"
#include "tools/result_output.h"
#include "tools/resumable_lines.h"
#include "tools/search_options.h"
#include "tools/task_options.h"
#include "tools/variants_report.h"

namespace neuroshard::tools {
namespace {

constexpr const char* kPlanExamples = R"(Examples:
  neuroshard plan --task tools/examples/dlrm_v2_8gpu.json
  neuroshard plan --task my_model.json --devices 16 --format json --output plan.json
  neuroshard plan --tables table_configs.json --tasks tasks.txt --devices 4 --memory-gb 4 \
      --format jsonl --output plans.jsonl
  neuroshard plan --task my_model.json --devices 8,16,32,64 --memory-gb 20,40 --svg costs.svg

Formats: docs/task_format.md, docs/plan_format.md, docs/weights_format.md.
Exit codes: 0 every task has a plan; 1 some task has none, and the reason is given; 2 bad input or
usage. A line of --tasks that is no valid task does not keep the others from being planned.)";

struct PlanCommand {
  TaskOptions tasks;
  ModelOptions models;
  PlannerOptions planner;
  std::string algorithm = "neuroshard";
  std::string effort = "default";
  std::optional<double> deadline_ms;
  std::optional<int> alternatives;
  std::string format = "table";
  std::string output;
  std::string svg;
  bool list_shards = false;
  bool resume = false;

  [[nodiscard]] bool asks_what_if() const {
    return tasks.devices.size() > 1 || tasks.memory_gb.size() > 1;
  }
};

void warn(const std::string& warning, Console& console) {
  if (!warning.empty()) console.err << "neuroshard: warning: " << printable(warning) << '\n';
}

// Longer than anybody waits, and no trouble for clocks.
constexpr double kLongestDeadlineMs = 1e9;

void require_valid(const PlanCommand& command, bool one_task) {
  if (command.deadline_ms &&
      !(*command.deadline_ms >= 0.0 && *command.deadline_ms <= kLongestDeadlineMs)) {
    throw Error("--deadline-ms is not a time; give between 0 and 1e9 milliseconds");
  }
  if (!command.alternatives) return;
  if (*command.alternatives < 1 || *command.alternatives > 1000) {
    throw Error("--alternatives is " + std::to_string(*command.alternatives) +
                "; give between 1 and 1000, or leave it out");
  }
  if (!one_task) throw Error("--alternatives belongs to one task; pick one with --index");
}

// The deadline counts from now.
PlanRequest request_of(const PlanCommand& command) {
  PlanRequest request;
  if (command.deadline_ms) {
    request.deadline = std::chrono::steady_clock::now() +
                       std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                           std::chrono::duration<double, std::milli>(*command.deadline_ms));
  }
  request.alternatives = command.alternatives.value_or(0);
  return request;
}

void warn_if_ended_early(const PlanResult& result, Console& console) {
  if (result.complete || !result.plan) return;
  warn("the deadline ended the search: the plan is the best found by then", console);
}

// Chunks of tasks that take about this long keep the progress bar moving and every thread, or a
// GPU, busy; and are lost if an interrupt ends the program.
constexpr double kChunkSeconds = 0.25;

// A deadline is one of each task, so that they cannot be planned together.
std::vector<PlanOutcome> plan_one_by_one(const PlanCommand& command, const Planner& planner,
                                         std::span<const Task> tasks) {
  std::vector<PlanOutcome> outcomes;
  for (const Task& task : tasks) {
    try {
      outcomes.emplace_back(planner.plan(task, request_of(command)));
    } catch (const Error& error) {
      outcomes.emplace_back(error);
    }
  }
  return outcomes;
}

// Plans the tasks from `first` on in order and hands every outcome to `take(i, outcome)`.
template <typename Take>
void plan_in_chunks(const PlanCommand& command, const Planner& planner, const LoadedTasks& loaded,
                    std::size_t first, ProgressBar& progress, const Take& take) {
  using Clock = std::chrono::steady_clock;
  std::size_t chunk = 16;
  while (first < loaded.tasks.size()) {
    const std::size_t end = std::min(first + chunk, loaded.tasks.size());
    std::vector<Task> valid;
    for (std::size_t i = first; i < end; ++i) {
      if (!loaded.errors[i]) valid.push_back(loaded.tasks[i]);
    }
    const Clock::time_point start = Clock::now();
    const std::vector<PlanOutcome> outcomes =
        command.deadline_ms ? plan_one_by_one(command, planner, valid) : planner.plan_batch(valid);
    if (std::chrono::duration<double>(Clock::now() - start).count() < kChunkSeconds) chunk *= 2;
    auto next = outcomes.begin();
    for (; first < end; ++first) {
      take(first, loaded.errors[first] ? PlanOutcome(*loaded.errors[first]) : *next++);
    }
    progress.update(first);
  }
}

// One task gets a page, or a document, of its own.
int plan_one(const PlanCommand& command, OutputFormat format, const LoadedTasks& loaded,
             const Planner& planner, const std::string& weights, Console& console) {
  ResultOutput output(console, command.output);
  const Task& task = loaded.tasks[0];
  const PlanResult result = planner.plan(task, request_of(command));
  warn(result.stats.warning, console);
  warn_if_ended_early(result, console);
  if (!result.plan) {
    console.err << "neuroshard: no plan: "
                << printable(loaded.titles[0] + ": " + result.infeasible->message) << '\n';
    if (format == OutputFormat::kTable) return kExitInfeasible;
  }
  if (format == OutputFormat::kJsonl) {
    output.write(plan_to_json_line(loaded.indices[0], task, result) + '\n');
  } else if (!result.plan) {
    output.write(plan_to_json(NoPlanDocument{.task = task,
                                             .infeasible = *result.infeasible,
                                             .task_name = loaded.titles[0],
                                             .weights = weights,
                                             .notes = loaded.notes}));
  } else {
    const PlanDocument document{.task = task,
                                .plan = *result.plan,
                                .cost = result.cost,
                                .stats = result.stats,
                                .task_name = loaded.titles[0],
                                .weights = weights,
                                .notes = plan_notes(loaded.notes, result.cost),
                                .complete = result.complete,
                                .alternatives = result.alternatives,
                                .read_ms = loaded.read_ms};
    output.write(format == OutputFormat::kJson ? plan_to_json(document)
                                               : plan_page(document, output.style()));
    if (command.list_shards) output.write('\n' + shard_lists(document));
  }
  output.finish();
  return result.plan ? kExitOk : kExitInfeasible;
}

// What there is to say at the end of many tasks.
struct BatchEnd {
  std::size_t infeasible = 0;
  std::size_t failed = 0;
  std::string first_failure;
  std::set<std::string> warnings;

  void count(const PlanOutcome& outcome) {
    if (!outcome) {
      if (failed++ == 0) first_failure = outcome.error().what();
      return;
    }
    if (!outcome->plan) ++infeasible;
    warnings.insert(outcome->stats.warning);
  }

  // A line that an earlier run has written.
  void count(const PlanRecord& record) {
    if (record.plan) return;
    const bool error = record.error_kind == "invalid_task" || record.error_kind == "failed";
    if (!error) {
      ++infeasible;
    } else if (failed++ == 0) {
      first_failure = record.where + " says why";
    }
  }

  [[nodiscard]] int report(std::size_t tasks, Console& console) const {
    for (const std::string& warning : warnings) warn(warning, console);
    if (failed > 0) {
      console.err << "neuroshard: error: " << format_count(failed) << " of "
                  << counted(tasks, "task") << " could not be planned, the first because "
                  << printable(first_failure) << '\n';
      return kExitBadInput;
    }
    return infeasible == 0 ? kExitOk : kExitInfeasible;
  }
};

std::string line_of(int index, const Task& task, const PlanOutcome& outcome) {
  return outcome ? plan_to_json_line(index, task, *outcome)
                 : error_to_json_line(index, outcome.error());
}

void add_row(BatchReport& batch, int index, const Task& task, const PlanOutcome& outcome) {
  if (!outcome) return batch.add_error(index, outcome.error().what());
  batch.add(index, task, *outcome);
}

// Several get a line each.
int plan_many(const PlanCommand& command, OutputFormat format, const LoadedTasks& loaded,
              const Planner& planner, const std::string& weights, Console& console) {
  ResultOutput output(console, command.output);
  BatchReport batch;
  BatchEnd end;
  {
    Console bar_console = console;  // Lines that scroll by show progress enough.
    if (format == OutputFormat::kJsonl && command.output.empty() && console.out_is_terminal) {
      bar_console.err_is_terminal = false;
    }
    ProgressBar progress(bar_console, "planning", loaded.tasks.size());
    plan_in_chunks(command, planner, loaded, 0, progress,
                   [&](std::size_t i, const PlanOutcome& outcome) {
                     end.count(outcome);
                     if (format == OutputFormat::kJsonl) {
                       output.write(line_of(loaded.indices[i], loaded.tasks[i], outcome) + '\n');
                     } else {
                       add_row(batch, loaded.indices[i], loaded.tasks[i], outcome);
                     }
                   });
  }
  if (format == OutputFormat::kTable) {
    output.write(batch.page(loaded.read_ms, weights, loaded.notes, output.style()));
  }
  output.finish();
  return end.report(loaded.tasks.size(), console);
}

// All that decides the plans: not the backend, nor the number of threads.
std::uint64_t fingerprint_of(const PlanCommand& command, const LoadedTasks& loaded,
                             const CostModels& models) {
  Fingerprint fingerprint;
  const auto add_number = [&](auto value) {
    fingerprint.add({reinterpret_cast<const char*>(&value), sizeof value});
  };
  const auto add = [&](const auto& value) {
    if constexpr (requires { value.begin(); }) {
      for (const auto one : value) add_number(one);
    } else {
      add_number(value);
    }
  };
  fingerprint.add(NEUROSHARD_VERSION);
  fingerprint.add(serialize_weights(models));
  fingerprint.add(command.algorithm);
  fingerprint.add(command.effort);
  const SearchOptions& search = command.planner.search;
  for (const int size : {search.beam_width, search.candidates, search.max_splits, search.grid_steps,
                         search.memory_splits ? 1 : 0, command.planner.equal_widths ? 1 : 0}) {
    add_number(size);
  }
  add_number(command.planner.seed);
  for (std::size_t i = 0; i < loaded.tasks.size(); ++i) {
    const Task& task = loaded.tasks[i];
    fingerprint.add(loaded.errors[i] ? loaded.errors[i]->what() : "");
    add_number(loaded.indices[i]);
    add_number(task.devices);
    add_number(task.memory_bytes);
    for (const Table& table : task.tables) {
      fingerprint.add(table.name);
      std::apply([&](const auto&... fields) { (add(fields), ...); }, kind_of(table));
    }
  }
  return fingerprint.value();
}

// As JSON lines that outlive an interrupt.
int plan_resumably(const PlanCommand& command, const LoadedTasks& loaded, const Planner& planner,
                   const CostModels& models, Console& console) {
  const ResultOutput probe(console, command.output);
  ResumableLines lines(command.output, fingerprint_of(command, loaded, models));
  BatchEnd end;
  const std::size_t earlier = lines.lines().size();
  for (std::size_t i = 0; i < earlier; ++i) {
    const std::string where = command.output + ": line " + std::to_string(i + 1);
    for (const PlanRecord& record : parse_plans(lines.lines()[i], where)) end.count(record);
  }
  if (earlier > 0) {
    console.err << "neuroshard: " << printable(command.output) << ": going on after "
                << counted(earlier, "finished task") << '\n';
  }
  {
    ProgressBar progress(console, "planning", loaded.tasks.size());
    plan_in_chunks(command, planner, loaded, earlier, progress,
                   [&](std::size_t i, const PlanOutcome& outcome) {
                     end.count(outcome);
                     lines.add(line_of(loaded.indices[i], loaded.tasks[i], outcome));
                   });
  }
  lines.finish();
  return end.report(loaded.tasks.size(), console);
}

// All combinations of devices and memory.
std::vector<TaskVariant> variants_of(const TaskOptions& options, const Task& task) {
  std::vector<int> devices = options.devices;
  if (devices.empty()) devices = {task.devices};
  std::vector<std::int64_t> sizes;
  for (const double gib : options.memory_gb) sizes.push_back(bytes_from_gib(gib));
  if (sizes.empty()) sizes = {task.memory_bytes};
  std::vector<TaskVariant> variants;
  for (const std::int64_t memory_bytes : sizes) {
    for (const int count : devices) variants.push_back({count, memory_bytes});
  }
  return variants;
}

void require_valid(const PlanCommand& command, std::span<const TaskVariant> variants, Task task,
                   const LoadedModels& models) {
  if (command.alternatives || command.list_shards || command.resume) {
    throw Error(
        "--alternatives, --list-shards and --resume belong to one number of devices and "
        "one size of memory; leave them out, or give one of each");
  }
  for (const TaskVariant& variant : variants) {
    task.devices = variant.devices;
    task.memory_bytes = variant.memory_bytes;
    validate(task);
    require_comm_model(models, variant.devices);
  }
}

// A deadline is one of each variant, so that they cannot be planned together.
std::vector<PlanOutcome> plan_all(const PlanCommand& command, const Planner& planner,
                                  const Task& task, std::span<const TaskVariant> variants) {
  if (!command.deadline_ms) return plan_variants(planner, task, variants);
  std::vector<PlanOutcome> outcomes;
  for (const TaskVariant& variant : variants) {
    outcomes.push_back(
        std::move(plan_variants(planner, task, {&variant, 1}, request_of(command)).front()));
  }
  return outcomes;
}

// One task on different devices.
int plan_what_ifs(const PlanCommand& command, OutputFormat format, const LoadedTasks& loaded,
                  const LoadedModels& models, const Planner& planner, Console& console) {
  const Task& task = loaded.tasks[0];
  const std::vector<TaskVariant> variants = variants_of(command.tasks, task);
  require_valid(command, variants, task, models);
  ResultOutput output(console, command.output);
  std::optional<ResultOutput> chart;
  if (!command.svg.empty()) chart.emplace(console, command.svg);
  const VariantsReport report{.task = task,
                              .title = loaded.titles[0],
                              .weights = models.origin,
                              .notes = loaded.notes,
                              .read_ms = loaded.read_ms,
                              .variants = variants,
                              .outcomes = plan_all(command, planner, task, variants)};
  BatchEnd end;
  for (const PlanOutcome& outcome : report.outcomes) end.count(outcome);
  switch (format) {
    case OutputFormat::kTable:
      output.write(variants_page(report, output.style()));
      break;
    case OutputFormat::kJson:
      output.write(variants_json(report));
      break;
    case OutputFormat::kJsonl:
      output.write(variants_json_lines(report));
      break;
  }
  output.finish();
  if (chart) {
    chart->write(variants_chart(report));
    chart->finish();
  }
  return end.report(variants.size(), console);
}

int run_plan(const PlanCommand& command, Console& console) {
  const OutputFormat format = output_format_from_name(command.format);
  PlannerOptions planner_options = command.planner;
  planner_options.algorithm = algorithm_from_name(command.algorithm);
  planner_options.effort = effort_from_name(command.effort);
  const LoadedTasks loaded = load_tasks(command.tasks);
  const bool one = loaded.tasks.size() == 1;
  require_valid(command, one);
  if (!one && format == OutputFormat::kJson) {
    throw Error("--format json holds one task, and there are " +
                std::to_string(loaded.tasks.size()) + "; pick one with --index, or use jsonl");
  }
  if (command.list_shards && !(one && format == OutputFormat::kTable)) {
    throw Error("--list-shards belongs to --format table and one task; json and jsonl list them");
  }
  if (command.resume &&
      (format != OutputFormat::kJsonl || command.output.empty() || is_device(command.output))) {
    throw Error("--resume keeps the finished lines of --format jsonl --output FILE; give both");
  }
  if (command.asks_what_if() && !one) {
    throw Error("several devices or sizes of memory belong to one task; pick one with --index");
  }
  if (!command.svg.empty() && !command.asks_what_if()) {
    throw Error("--svg draws costs over devices; give several with --devices");
  }
  const LoadedModels models = load_models(command.models);
  for (std::size_t i = 0; i < loaded.tasks.size(); ++i) {
    if (!loaded.errors[i]) require_comm_model(models, loaded.tasks[i].devices);
  }
  const Planner planner(models.models, planner_options);
  if (command.asks_what_if()) {
    return plan_what_ifs(command, format, loaded, models, planner, console);
  }
  if (command.resume) return plan_resumably(command, loaded, planner, models.models, console);
  return (one ? plan_one : plan_many)(command, format, loaded, planner, models.origin, console);
}

}  // namespace

void add_plan_command(CLI::App& program, Action& chosen) {
  const auto options = std::make_shared<PlanCommand>();
  CLI::App* command = program.add_subcommand("plan", "Find the sharding plan of lowest cost");
  command->footer(kPlanExamples);
  add_task_options(*command, options->tasks, DeviceLists::kYes);
  add_model_options(*command, options->models);
  add_search_options(*command, options->planner, options->algorithm, options->effort);
  command
      ->add_option("--deadline-ms", options->deadline_ms,
                   "Return the best plan found within so many milliseconds, for each task")
      ->type_name("MS")
      ->group("Search");
  command
      ->add_option("--alternatives", options->alternatives,
                   "Also give so many other plans that the search came across (one task)")
      ->type_name("K")
      ->group("Search");
  add_backend_options(*command, options->planner);
  add_output_options(*command, options->format, options->output);
  command
      ->add_option("--svg", options->svg,
                   "Also draw costs over devices, an SVG file (several --devices)")
      ->type_name("FILE")
      ->group("Output");
  command
      ->add_flag("--list-shards", options->list_shards,
                 "Also list which columns of which table go to each device (--format table)")
      ->group("Output");
  command
      ->add_flag("--resume", options->resume,
                 "Keep finished lines in FILE.partial (--format jsonl --output FILE); if there are "
                 "some of an interrupted run, go on after them")
      ->group("Output");
  command->callback([options, &chosen] {
    chosen = [options](Console& console) { return run_plan(*options, console); };
  });
}

}  // namespace neuroshard::tools
