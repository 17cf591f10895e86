#include <CLI/CLI.hpp>
#include <limits>
#include <memory>

#include "core/message_text.h"
#include "neuroshard/error.h"
#include "neuroshard/plan_file.h"
#include "neuroshard/planner.h"
#include "neuroshard/rule_costs.h"
#include "tools/commands.h"
#include "tools/console/result_output.h"
#include "tools/options/model_options.h"
#include "tools/options/search_options.h"
#include "tools/options/task_options.h"
#include "tools/plan_pages/plan_report.h"
#include "tools/planning/explanation_page.h"
#include "tools/planning/matched_plans.h"

namespace neuroshard::tools {
namespace {

constexpr const char* kExplainExamples = R"(Examples:
  neuroshard explain --task my_model.json --plan plan.json
  neuroshard explain --task my_model.json --effort fast --format json
  neuroshard explain --task my_model.json --rules

Says which device decides what a plan costs, which is one that others wait for, and why; what the
plan would cost without its base load, its low speed and each slice, and with the cuts of its tables
undone. Without --plan, the task is planned first. With --rules, it is also planned without each of
its rules and groups, with the same effort: a rule costs what the plan is cheaper without it. If the
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

/// What `plan` costs, if it keeps all rules and fits; else infinity.
double cost_if_good(const Planner& planner, const Task& task, const std::optional<Plan>& plan) {
  return plan && check_plan(*plan, task).empty() ? planner.simulate(task, *plan).cost_ms
                                                 : std::numeric_limits<double>::infinity();
}

int run_explain(const ExplainCommand& command, Console& console) {
  const OutputFormat format = output_format_from_name(command.format);
  const PlannerOptions options = command.search.options();
  const LoadedTasks loaded = load_tasks(command.tasks);
  if (loaded.tasks.size() != 1) {
    throw Error("explains the plan of one task, and there are " +
                std::to_string(loaded.tasks.size()) + "; pick one with --index");
  }
  if (loaded.errors[0]) throw Error(*loaded.errors[0]);
  const Task& task = loaded.tasks[0];
  const LoadedModels models = load_models(command.models, loaded.hardware);
  require_models_for(models, loaded);
  const Planner planner(models.models, options);
  ResultOutput output(console, command.output);
  std::optional<Plan> plan = given_plan(command, loaded);
  std::optional<RuleCosts> rules;
  const int indent = format == OutputFormat::kJson ? 2 : -1;
  if (command.rules) {
    rules = costs_of_rules(planner, task, {}, cost_if_good(planner, task, plan));
  }
  if (!plan) {
    const PlanResult result = rules ? rules->with : planner.plan(task);
    warn(result.stats.warning, console);
    if (!result.plan) {
      if (!rules) {
        say_no_plan(loaded.titles[0], result.infeasible->message, console);
        return kExitInfeasible;
      }
      output.write(format == OutputFormat::kTable
                       ? no_plan_rules_page(task, loaded.titles[0], *rules)
                       : no_plan_rules_json(task, loaded.titles[0], *rules, indent));
      output.finish();
      return kExitInfeasible;
    }
    plan = result.plan;
  }
  const PlanExplanation explanation = planner.explain(task, *plan);
  const std::vector<std::string> notes = plan_notes(loaded.notes, explanation.cost);
  const ExplainedPlan explained{.task = task,
                                .title = loaded.titles[0],
                                .weights = models.origin,
                                .notes = notes,
                                .explanation = explanation,
                                .rules = rules ? &*rules : nullptr};
  output.write(format == OutputFormat::kTable ? explanation_page(explained, output.style())
                                              : explanation_json(explained, indent));
  output.finish();
  return kExitOk;
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
                 "Also what each rule of the task costs: takes a plan more for each of them")
      ->group("Task");
  add_model_options(*command, options->models);
  add_search_options(*command, options->search);
  add_backend_options(*command, options->search.planner);
  add_output_options(*command, options->format, options->output);
  command->callback([options, &chosen] {
    chosen = [options](Console& console) { return run_explain(*options, console); };
  });
}

}  // namespace neuroshard::tools
