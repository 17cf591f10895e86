#include "tools/planning/plan_command.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "core/base/message_text.h"
#include "neuroshard/error.h"
#include "neuroshard/plan_file.h"
#include "tools/command_line/options.h"
#include "tools/commands.h"
#include "tools/console/report_output.h"
#include "tools/plan_pages/plan_report.h"

namespace neuroshard::tools {
namespace {

constexpr const char* kPlanExamples = R"(Examples:
  neuroshard plan --task tools/examples/dlrm_v2_8gpu.json
  neuroshard plan --task my_model.json --devices 16 --format json --output plan.json
  neuroshard plan --tables table_configs.json --tasks tasks.txt --devices 4 --memory-gb 4 \
      --format jsonl --output plans.jsonl
  neuroshard plan --task my_model.json --report plan.html
  neuroshard plan --task my_model.json --devices 8,16,32,64 --memory-gb 20,40 --svg costs.svg

Formats: docs/task_format.md, docs/plan_format.md, docs/weights_format.md.
Exit codes: 0 every task has a plan; 1 some task has none, and the reason is given; 2 bad input or
usage. An invalid line of --tasks does not keep the others from being planned.)";

void require_valid(const PlanCommand& command, bool one_task) {
  if (command.deadline_ms && !deadline_in(*command.deadline_ms)) {
    throw Error("--deadline-ms is not a time; give between 0 and 1e9 milliseconds");
  }
  if (command.bound && !one_task) {
    throw Error("--bound belongs to one task; pick one with --index, or use the bound command");
  }
  if (!command.alternatives) return;
  if (*command.alternatives < 1 || *command.alternatives > 1000) {
    throw Error("--alternatives is " + std::to_string(*command.alternatives) +
                "; give between 1 and 1000, or leave it out");
  }
  if (!one_task) throw Error("--alternatives belongs to one task; pick one with --index");
}

void warn_if_ended_early(const PlanResult& result, Console& console) {
  if (result.complete || !result.plan) return;
  warn(std::string(kEndedEarly), console);
}

// One task gets a page, or a document, of its own.
int plan_one(const PlanCommand& command, OutputFormat format, const LoadedTasks& loaded,
             const Planner& planner, const std::string& weights, Console& console) {
  ResultOutput output(console, command.output);
  ReportOutput report(console, command.report);
  const Task& task = loaded.tasks[0];
  const std::optional<Plan> beside = plan_beside(command.beside, task);
  const PlanResult result = planner.plan(task, request_of(command));
  warn(result.stats.warning, console);
  warn_if_ended_early(result, console);
  if (format == OutputFormat::kJsonl) {
    output.write(plan_to_json_line(loaded.indices[0], task, result) + '\n');
  }
  if (!result.plan) {
    say_no_plan(loaded.titles[0], result.infeasible->message, console);
    const NoPlanDocument document{.task = task,
                                  .infeasible = *result.infeasible,
                                  .task_name = loaded.titles[0],
                                  .weights = weights,
                                  .notes = loaded.notes};
    if (format == OutputFormat::kJson) output.write(plan_to_json(document));
    if (format != OutputFormat::kTable) output.finish();
    report.write(document);
    return kExitInfeasible;
  }
  std::vector<std::string> notes = loaded.notes;
  ReportContext context;
  if (command.bound) {
    context.bound = bound_of(loaded.machine(), task, &*result.plan);
    notes.push_back(context.bound->text());
  } else if (report.wanted()) {
    context.bound = quick_bound_of(loaded.machine(), task, *result.plan);
  }
  if (beside) {
    context.running = {command.beside, task, *beside, planner.simulate(task, *beside)};
  }
  const PlanDocument document{.task = task,
                              .plan = *result.plan,
                              .cost = result.cost,
                              .stats = result.stats,
                              .task_name = loaded.titles[0],
                              .weights = weights,
                              .notes = std::move(notes),
                              .complete = result.complete,
                              .alternatives = result.alternatives,
                              .read_ms = loaded.read_ms};
  if (format == OutputFormat::kJson) output.write(plan_to_json(document));
  if (format == OutputFormat::kTable) output.write(plan_page(document, output.style()));
  if (command.list_shards) output.write('\n' + shard_lists(document));
  output.finish();
  report.write(document, context);
  return kExitOk;
}

int run_plan(const PlanCommand& command, Console& console) {
  const OutputFormat format = output_format_from_name(command.format);
  const PlannerOptions planner_options = command.search.options();
  const LoadedTasks loaded = load_tasks(command.tasks, command.models.hardware);
  const bool one = loaded.tasks.size() == 1;
  const bool what_if = command.tasks.asks_what_if();
  require_valid(command, one);
  require_one_for_json(format, loaded.tasks.size(), "task");
  if (format == OutputFormat::kJsonl && (command.bound || command.alternatives)) {
    throw Error(
        std::string(command.bound ? "--bound" : "--alternatives") +
        " does not belong to --format jsonl, whose lines are plans alone; use table or json");
  }
  if (command.list_shards && !(one && format == OutputFormat::kTable)) {
    throw Error("--list-shards belongs to --format table and one task; json and jsonl list them");
  }
  if (command.resume &&
      (format != OutputFormat::kJsonl || command.output.empty() || is_device(command.output))) {
    throw Error("--resume keeps the finished lines of --format jsonl --output FILE; give both");
  }
  if (what_if && !one) {
    throw Error("several devices or sizes of memory belong to one task; pick one with --index");
  }
  require_one_plan(command.report, command.beside, one && !what_if);
  if (!command.report.empty() && command.resume) {
    throw Error("--report and --resume exclude each other; give one of them");
  }
  if (command.bound && (command.resume || what_if)) {
    throw Error("--bound belongs to one plan; give one number of devices, without --resume");
  }
  if (!command.svg.empty() && !what_if) {
    throw Error("--svg draws costs over devices or memory; give several with --devices");
  }
  const LoadedModels models = load_models(command.models, loaded.hardware);
  if (!what_if) require_models_for(models, loaded);
  const Planner planner(models.models, planner_options);
  if (what_if) {
    return plan_what_ifs(command, format, loaded, models, planner, console);
  }
  if (command.resume) return plan_resumably(command, loaded, planner, console);
  return (one ? plan_one : plan_many)(command, format, loaded, planner, models.origin, console);
}

}  // namespace

PlanRequest request_of(const PlanCommand& command) {
  PlanRequest request;
  if (command.deadline_ms) request.deadline = deadline_in(*command.deadline_ms);
  request.alternatives = command.alternatives.value_or(0);
  return request;
}

void add_plan_command(CLI::App& program, Action& chosen) {
  const auto options = std::make_shared<PlanCommand>();
  CLI::App* command = program.add_subcommand("plan", "Find the sharding plan of lowest cost");
  command->footer(kPlanExamples);
  add_task_options(*command, options->tasks, DeviceLists::kYes);
  add_model_options(*command, options->models);
  add_search_options(*command, options->search);
  const command_line::OptionGroup search(*command, "Search");
  search.add("--deadline-ms", "MS", options->deadline_ms,
             "Milliseconds after which the best plan so far is returned, for each task");
  search.add("--alternatives", "K", options->alternatives,
             "Also give this many other plans that the search came across (one task)");
  search.flag("--bound", options->bound,
              "Also give a lower bound of every plan's cost, by analytic prices (one task)");
  add_backend_options(*command, options->search.planner);
  add_output_options(*command, options->format, options->output);
  const command_line::OptionGroup output(*command, "Output");
  output.add("--svg", "FILE", options->svg,
             "Also draw costs over devices or memory, to an SVG file (what-ifs)");
  add_report_option(*command, options->report);
  add_beside_option(*command, options->beside);
  output.flag("--list-shards", options->list_shards,
              "Also list which columns of which table go to each device (--format table)");
  output.flag("--resume", options->resume,
              "Keep finished lines in FILE.partial (--format jsonl --output FILE), and go on "
              "after those of an interrupted run");
  command_line::run_if_given(*command, chosen, options, run_plan);
}

}  // namespace neuroshard::tools
