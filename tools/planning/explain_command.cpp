#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "neuroshard/explanation_file.h"
#include "neuroshard/plan_file.h"
#include "neuroshard/planner.h"
#include "neuroshard/rule_costs.h"
#include "tools/command_line/options.h"
#include "tools/commands.h"
#include "tools/console/result_output.h"
#include "tools/options/model_options.h"
#include "tools/options/search_options.h"
#include "tools/options/task_options.h"
#include "tools/plan_pages/explanation_page.h"
#include "tools/planning/matched_plans.h"

namespace neuroshard::tools {
namespace {

constexpr const char* kExplainExamples = R"(Examples:
  neuroshard explain --task my_model.json --plan plan.json
  neuroshard explain --task my_model.json --effort fast --format json
  neuroshard explain --task my_model.json --rules

Names the device that decides the cost of a plan, which others wait for, and says why. Also gives
the cost without its base load, its low speed and each slice, and with the cuts of its tables
undone. Without --plan, the task is planned first. With --rules, it is also planned without each
of its rules and groups, with the same effort: a rule costs what the plan saves without it. If the
task has no plan, the page says which rules leave it without one.
Exit codes: 0 done; 1 there is no plan; 2 bad input or usage.)";

struct ExplainCommand {
  TaskOptions tasks;
  ModelOptions models;
  SearchChoice search;
  std::string plan;
  bool rules = false;
  std::string format = "table";
  std::string output;
};

std::optional<Plan> given_plan(const ExplainCommand& command, const LoadedTasks& loaded) {
  if (command.plan.empty()) return std::nullopt;
  const std::vector<PlanRecord> records = load_plans(command.plan);
  return plan_for(*match_plans(records, loaded, command.plan)[0].record, loaded.tasks[0]);
}

std::string text_of(const ExplanationDocument& document, OutputFormat format,
                    const TextStyle& style) {
  if (format == OutputFormat::kTable) return explanation_page(document, style);
  const std::string json = explanation_to_json(document);
  if (format == OutputFormat::kJsonl) return json + '\n';
  return nlohmann::ordered_json::parse(json).dump(2) + '\n';
}

int run_explain(const ExplainCommand& command, Console& console) {
  const OutputFormat format = output_format_from_name(command.format);
  const PlannerOptions options = command.search.options();
  const LoadedTasks loaded = load_tasks(command.tasks, command.models.hardware);
  const Task& task = only_task(loaded, "explain");
  const LoadedModels models = load_models(command.models, loaded.hardware);
  require_models_for(models, loaded);
  const Planner planner(models.models, options);
  ResultOutput output(console, command.output);
  std::optional<Plan> plan = given_plan(command, loaded);
  ExplanationDocument document{
      .task = task, .task_name = loaded.titles[0], .weights = models.origin, .notes = loaded.notes};
  if (command.rules) {
    document.rules = costs_of_rules(planner, task, {}, cost_with_rules_ms(planner, task, plan));
  }
  if (!plan) {
    PlanResult result = document.rules ? document.rules->with : planner.plan(task);
    warn(result.stats.warning, console);
    plan = std::move(result.plan);
    document.infeasible = std::move(result.infeasible);
  }
  if (!plan && !document.rules) {
    say_no_plan(loaded.titles[0], document.infeasible->message, console);
    return kExitInfeasible;
  }
  if (plan) document.explanation = planner.explain(task, *plan);
  output.finish(text_of(document, format, output.style()));
  return plan ? kExitOk : kExitInfeasible;
}

}  // namespace

void add_explain_command(CLI::App& program, Action& chosen) {
  const auto options = std::make_shared<ExplainCommand>();
  CLI::App* command = program.add_subcommand(
      "explain", "Say which device decides a plan's cost, and what each slice costs");
  command->footer(kExplainExamples);
  add_task_options(*command, options->tasks);
  add_plan_option(*command, options->plan)->required(false);
  command
      ->add_flag("--rules", options->rules,
                 "Also price each rule of the task, which takes one more plan for each")
      ->group("Task");
  add_model_options(*command, options->models);
  add_search_options(*command, options->search);
  add_backend_options(*command, options->search.planner);
  add_output_options(*command, options->format, options->output);
  command_line::run_if_given(*command, chosen, options, run_explain);
}

}  // namespace neuroshard::tools
