#include <CLI/CLI.hpp>
#include <memory>

#include "neuroshard/error.h"
#include "neuroshard/plan_file.h"
#include "tools/command_line/options.h"
#include "tools/commands.h"
#include "tools/console/result_output.h"
#include "tools/options/model_options.h"
#include "tools/options/search_options.h"
#include "tools/options/task_options.h"
#include "tools/planning/groups_report.h"

namespace neuroshard::tools {
namespace {

constexpr const char* kGroupsExamples = R"(Examples:
  neuroshard groups --task my_model.json --devices 128
  neuroshard groups --task my_model.json --devices 128 --sizes 16,32 --average-every 200
  neuroshard groups --task my_model.json --devices 128 --svg groups.svg --plan-output plan.json

Each group of devices holds all tables and has its part of the batch; the copies are averaged now
and then: docs/device_groups.md.
Exit codes: 0 done; 1 no size of groups has a plan; 2 bad input or usage.)";

struct GroupsCommand {
  TaskOptions tasks;
  ModelOptions models;
  SearchChoice search;
  std::vector<int> sizes;
  std::vector<std::string> layouts;
  std::optional<double> iterations;
  std::optional<double> share;
  bool weights_only = false;
  bool touched_rows = false;
  std::string format = "table";
  std::string output;
  std::string svg;
  std::string plan_output;
};

GroupsRequest request_of(const GroupsCommand& command) {
  GroupsRequest request{.sizes = command.sizes,
                        .optimizer_state = !command.weights_only,
                        .touched_rows = command.touched_rows};
  for (const std::string& layout : command.layouts) {
    request.layouts.push_back(group_layout_from_name(layout));
  }
  if (command.iterations && command.share) {
    throw Error("--average-every and --average-share exclude each other; give one of them");
  }
  if (command.iterations && !(*command.iterations >= 1.0)) {
    throw Error("--average-every is less than 1; give the iterations between two averagings");
  }
  request.iterations = command.iterations.value_or(0.0);
  request.share = command.share.value_or(request.share);
  return request;
}

void write_best_plan(const GroupsReport& report, ResultOutput& output) {
  const GroupsPlan& best = report.result.plans[*report.result.best];
  output.finish(plan_to_json(
      PlanDocument{.task = best.task,
                   .plan = *best.result.plan,
                   .cost = best.result.cost,
                   .stats = best.result.stats,
                   .task_name = report.title + ", a group of " + std::to_string(best.groups.size),
                   .weights = report.weights,
                   .notes = report.notes,
                   .complete = best.result.complete}));
}

int run_groups(const GroupsCommand& command, Console& console) {
  const OutputFormat format = output_format_from_name(command.format);
  const PlannerOptions options = command.search.options();
  const GroupsRequest request = request_of(command);
  const LoadedTasks loaded = load_tasks(command.tasks, command.models.hardware);
  const Task& task = only_task(loaded, "groups");
  const LoadedModels models = load_models(command.models, loaded.hardware);
  const Planner planner(models.models, options);
  ResultOutput output(console, command.output);
  std::optional<ResultOutput> chart = optional_output(console, command.svg);
  std::optional<ResultOutput> plan = optional_output(console, command.plan_output);
  const GroupsReport report{.task = task,
                            .title = loaded.titles[0],
                            .weights = models.origin,
                            .notes = loaded.notes,
                            .result = planner.plan_groups(task, request)};
  output.finish(groups_text(report, format, output.style()));
  if (chart) chart->finish(groups_chart(report));
  if (!report.result.best) {
    say_no_plan(report.title, "no size of groups has one", console);
    return kExitInfeasible;
  }
  if (plan) write_best_plan(report, *plan);
  return kExitOk;
}

}  // namespace

void add_groups_command(CLI::App& program, Action& chosen) {
  const auto options = std::make_shared<GroupsCommand>();
  CLI::App* command = program.add_subcommand(
      "groups", "Plan devices in groups that each hold all tables, and are averaged now and then");
  command->footer(kGroupsExamples);
  add_task_options(*command, options->tasks);
  const command_line::OptionGroup groups(*command, "Groups");
  groups
      .add("--sizes", "N,...", options->sizes,
           "Devices of a group; default: all sizes that can be planned")
      ->delimiter(',');
  groups
      .add("--layouts", "NAME,...", options->layouts,
           "Devices that form a group: consecutive, interleaved; default: both")
      ->delimiter(',');
  groups.add("--average-every", "N", options->iterations, "Iterations between two averagings");
  groups.add(
      "--average-share", "SHARE", options->share,
      "Share of the time that averaging may take, in place of --average-every; default: 0.05");
  groups.flag("--weights-only", options->weights_only,
              "Average the weights alone, without the optimizers' state");
  groups.flag("--touched-rows", options->touched_rows,
              "Average only rows that some group has looked up since the last averaging");
  add_model_options(*command, options->models);
  add_search_options(*command, options->search);
  add_backend_options(*command, options->search.planner);
  add_output_options(*command, options->format, options->output);
  const command_line::OptionGroup output(*command, "Output");
  output.add("--svg", "FILE", options->svg, "Also draw costs over sizes of groups, to an SVG file");
  output.add("--plan-output", "FILE", options->plan_output,
             "Also write the plan of one of the cheapest groups, as plan --format json does");
  command_line::run_if_given(*command, chosen, options, run_groups);
}

}  // namespace neuroshard::tools
