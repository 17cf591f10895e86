#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "core/base/message_text.h"
#include "neuroshard/error.h"
#include "neuroshard/plan_file.h"
#include "tools/command_line/options.h"
#include "tools/commands.h"
#include "tools/console/result_output.h"
#include "tools/options/search_options.h"
#include "tools/options/task_options.h"
#include "tools/planning/matched_plans.h"

namespace neuroshard::tools {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kCheckExamples = R"(Examples:
  neuroshard check --task my_model.json --plan plan.json
  neuroshard check --tables table_configs.json --tasks tasks.txt --devices 4 --memory-gb 4 \
      --plan plans.jsonl --format jsonl

Lists all problems of each plan: values that cannot be read, a plan of another task, splits
that are impossible, slices that are placed twice or nowhere, devices that lack memory, rules and
groups of tables that are broken. Needs no cost models.
Exit codes: 0 no problems; 1 a plan has some, or the file says that a task has none; 2 bad input or
usage.)";

struct CheckCommand {
  TaskOptions tasks;
  std::string plan;
  std::string format = "table";
  std::string output;
};

/// Problems of one plan.
struct Checked {
  const Task* task = nullptr;
  int index = 0;
  std::string title;
  bool has_plan = false;
  std::vector<PlanProblem> problems{};
};

std::string json_of(const Checked& checked, int indent) {
  const Json json = {{"task", checked.index},
                     {"has_plan", checked.has_plan},
                     {"problems", Json::parse(problems_to_json(checked.problems, *checked.task))}};
  return json.dump(indent) + '\n';
}

std::string lines_of(const Checked& checked) {
  std::string text = printable(checked.title) + ": ";
  if (!checked.has_plan) return text.append(kNoPlanInFile).append("\n");
  if (checked.problems.empty()) return text + "no problems\n";
  text += counted(checked.problems.size(), "problem") + '\n';
  for (const PlanProblem& problem : checked.problems) {
    text += "  " + std::string(name_of(problem.kind)) + ": " + printable(problem.message()) + '\n';
  }
  return text;
}

int run_check(const CheckCommand& command, Console& console) {
  const OutputFormat format = output_format_from_name(command.format);
  const LoadedTasks loaded = load_tasks(command.tasks);
  const std::vector<PlanRecord> records = load_plans(command.plan, PlanFaults::kListed);
  const std::vector<MatchedPlan> plans = match_plans(records, loaded, command.plan);
  require_one_for_json(format, plans.size(), "plan");
  ResultOutput output(console, command.output);
  bool all_good = true;
  for (const auto& [position, record] : plans) {
    if (loaded.errors[position]) throw Error(*loaded.errors[position]);
    Checked checked{.task = &loaded.tasks[position],
                    .index = loaded.indices[position],
                    .title = loaded.titles[position],
                    .has_plan = record->plan.has_value()};
    if (checked.has_plan) checked.problems = check_plan(*record, *checked.task);
    all_good = all_good && checked.has_plan && checked.problems.empty();
    output.write(format == OutputFormat::kTable
                     ? lines_of(checked)
                     : json_of(checked, format == OutputFormat::kJson ? 2 : -1));
  }
  output.finish();
  return all_good ? kExitOk : kExitInfeasible;
}

}  // namespace

void add_check_command(CLI::App& program, Action& chosen) {
  const auto options = std::make_shared<CheckCommand>();
  CLI::App* command = program.add_subcommand("check", "List everything that is wrong with a plan");
  command->footer(kCheckExamples);
  add_task_options(*command, options->tasks);
  add_plan_option(*command, options->plan);
  add_output_options(*command, options->format, options->output);
  command_line::run_if_given(*command, chosen, options, run_check);
}

}  // namespace neuroshard::tools
