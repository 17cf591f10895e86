#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/base/message_text.h"
#include "neuroshard/error.h"
#include "neuroshard/plan_file.h"
#include "tools/command_line/options.h"
#include "tools/commands.h"
#include "tools/console/result_output.h"
#include "tools/options/hardware_option.h"
#include "tools/options/search_options.h"
#include "tools/options/task_options.h"
#include "tools/plan_pages/bound_text.h"
#include "tools/planning/matched_plans.h"

namespace neuroshard::tools {
namespace {

constexpr const char* kBoundExamples = R"(Examples:
  neuroshard bound --task my_model.json --devices 16
  neuroshard bound --task my_model.json --plan plan.json
  neuroshard bound --tables table_configs.json --tasks tasks.txt --devices 4 --memory-gb 4 \
      --plan plans.jsonl --format jsonl

Costs are analytic prices, like those of simulate --cost-source analytic: docs/bound.md.
Exit codes: 0 done; 1 no plan keeps all rules and fits; 2 bad input or usage.)";

struct BoundCommand {
  TaskOptions tasks;
  std::string hardware;
  std::string plan;
  std::string format = "table";
  std::string output;
};

int run_bound(const BoundCommand& command, Console& console) {
  const OutputFormat format = output_format_from_name(command.format);
  const LoadedTasks loaded = load_tasks(command.tasks, command.hardware);
  require_one_for_json(format, loaded.tasks.size(), "task");
  for (const std::optional<Error>& error : loaded.errors) {
    if (error) throw Error(*error);
  }
  std::vector<std::optional<Plan>> plans(loaded.tasks.size());
  if (!command.plan.empty()) {
    const std::vector<PlanRecord> records = load_plans(command.plan);
    for (const MatchedPlan& matched : match_plans(records, loaded, command.plan)) {
      if (!matched.record->plan) continue;
      plans[matched.task] = plan_for(*matched.record, loaded.tasks[matched.task]);
    }
  }
  const Hardware machine = loaded.machine();
  ResultOutput output(console, command.output);
  int code = kExitOk;
  for (std::size_t i = 0; i < loaded.tasks.size(); ++i) {
    const PlanBound bound = bound_of(machine, loaded.tasks[i], plans[i] ? &*plans[i] : nullptr);
    if (!bound.any_plan()) code = kExitInfeasible;
    if (format == OutputFormat::kTable) {
      output.write(printable(loaded.titles[i]) + ": " + bound.text() + '\n');
      continue;
    }
    nlohmann::ordered_json json = {{"task", loaded.indices[i]}, {"bound_ms", nullptr}};
    if (bound.any_plan()) json["bound_ms"] = bound.bound_ms;
    if (bound.cost_ms) json["cost_ms"] = *bound.cost_ms;
    output.write(json.dump() + '\n');
  }
  output.finish();
  return code;
}

}  // namespace

void add_bound_command(CLI::App& program, Action& chosen) {
  const auto options = std::make_shared<BoundCommand>();
  CLI::App* command = program.add_subcommand(
      "bound", "Compute a cost that no plan of a task is below, and how near a plan is to it");
  command->footer(kBoundExamples);
  add_task_options(*command, options->tasks);
  const command_line::OptionGroup general(*command);
  general.add("--hardware", "NAME|FILE", options->hardware,
              "Hardware whose datasheets give the costs: " + known_hardware_names() +
                  ", or a datasheet, FILE.json or its text, in place of what the task says "
                  "(default: " +
                  std::string(kDefaultHardware) + ")");
  general.add("--plan", "FILE", options->plan,
              "Plans of the plan command, to compare with the bound");
  add_output_options(*command, options->format, options->output);
  command_line::run_if_given(*command, chosen, options, run_bound);
}

}  // namespace neuroshard::tools
