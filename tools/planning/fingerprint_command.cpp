#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "core/base/message_text.h"
#include "neuroshard/error.h"
#include "neuroshard/fingerprint.h"
#include "tools/command_line/options.h"
#include "tools/commands.h"
#include "tools/console/result_output.h"
#include "tools/options/model_options.h"
#include "tools/options/search_options.h"
#include "tools/options/task_options.h"

namespace neuroshard::tools {
namespace {

constexpr const char* kFingerprintExamples = R"(Examples:
  neuroshard fingerprint --task my_model.json --devices 16
  neuroshard fingerprint --task my_model.json --effort thorough --weights my_hardware.safetensors

The number is equal for tables in another order or under other names, on every machine and in every
version of the program: docs/fingerprint.md.
Exit codes: 0 done; 2 bad input or usage.)";

struct FingerprintCommand {
  TaskOptions tasks;
  ModelOptions models;
  SearchChoice search;
  std::string format = "table";
  std::string output;
};

int run_fingerprint(const FingerprintCommand& command, Console& console) {
  const OutputFormat format = output_format_from_name(command.format);
  const PlannerOptions options = command.search.options();
  const LoadedTasks loaded = load_tasks(command.tasks, command.models.hardware);
  require_one_for_json(format, loaded.tasks.size(), "task");
  const LoadedModels models = load_models(command.models, loaded.hardware);
  for (const std::optional<Error>& error : loaded.errors) {
    if (error) throw Error(*error);
  }
  require_models_for(models, loaded);
  ResultOutput output(console, command.output);
  for (std::size_t i = 0; i < loaded.tasks.size(); ++i) {
    const std::string text = fingerprint_text(fingerprint(loaded.tasks[i], options, models.models));
    const nlohmann::ordered_json json = {{"task", loaded.indices[i]}, {"fingerprint", text}};
    output.write(
        (format == OutputFormat::kTable ? text + "  " + printable(loaded.titles[i]) : json.dump()) +
        '\n');
  }
  output.finish();
  return kExitOk;
}

}  // namespace

void add_fingerprint_command(CLI::App& program, Action& chosen) {
  const auto options = std::make_shared<FingerprintCommand>();
  CLI::App* command = program.add_subcommand(
      "fingerprint", "Print a number that stands for task, search options and cost models");
  command->footer(kFingerprintExamples);
  add_task_options(*command, options->tasks);
  add_model_options(*command, options->models);
  add_search_options(*command, options->search);
  add_output_options(*command, options->format, options->output);
  command_line::run_if_given(*command, chosen, options, run_fingerprint);
}

}  // namespace neuroshard::tools
