#include "tools/training/train_policy.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>

#include "neuroshard/error.h"
#include "neuroshard/policy_file.h"
#include "neuroshard/table_configs.h"
#include "neuroshard/weights.h"
#include "tools/command_line/options.h"
#include "tools/console/interrupt.h"
#include "tools/console/progress_bar.h"
#include "tools/console/result_output.h"
#include "tools/options/hardware_option.h"
#include "tools/text/text.h"
#include "weights/files/atomic_file.h"
#include "weights/files/read_file.h"
#include "weights/lookups/table_population.h"
#include "weights/training/policies/train_policy.h"

namespace neuroshard::tools {
namespace {

constexpr const char* kTrainPolicyExamples = R"(Examples:
  neuroshard train policy --algorithm dreamshard --hardware h100 --output dreamshard.safetensors
  neuroshard plan --task my_model.json --algorithm dreamshard --policy dreamshard.safetensors

Ctrl-C ends training early and keeps the best iteration so far; with --resume the same command goes
on. docs/learned_strategies.md has the details.)";

struct TrainPolicy {
  training::PolicyTrainingOptions training;
  std::string hardware{kDefaultHardware};
  std::string weights;
  std::string tables;
  std::string output;
  bool resume = false;
};

std::vector<Table> tables_to_train_on(const TrainPolicy& command) {
  if (!command.tables.empty()) return load_table_configs(command.tables).tables;
  std::vector<Table> tables;
  for (PopulationTable& drawn : draw_population({.seed = command.training.seed})) {
    tables.push_back(std::move(drawn.table));
  }
  return tables;
}

int run(const TrainPolicy& command, Console& console) {
  training::PolicyTrainingOptions options = command.training;
  if (!command.weights.empty()) {
    options.models = load_weights(command.weights);
  } else {
    options.hardware = *hardware_of_option(command.hardware);
  }
  const std::vector<Table> tables = tables_to_train_on(command);
  ResultOutput output(console, command.output);
  const InterruptGuard guard;
  const std::filesystem::path state_file = command.output + ".policy.partial";
  if (command.resume) {
    if (std::filesystem::exists(state_file)) {
      options.resume_from = read_file(state_file);
      options.resume_name = printable(state_file.string());
      console.out << "going on from " << options.resume_name << '\n';
    }
    options.on_state = [&](const std::string& state) { write_file(state_file, state); };
  }
  std::optional<ProgressBar> progress(std::in_place, console, "training " + options.algorithm,
                                      static_cast<std::uint64_t>(options.iterations));
  options.on_iteration = [&](const training::PolicyProgress& now) {
    progress->update(static_cast<std::uint64_t>(now.iteration),
                     "mean cost " + format_short(now.cost_ms) + " ms");
  };
  options.should_stop = [&] { return guard.interrupted(); };
  const training::TrainedPolicy trained = training::train_policy(tables, options);
  progress.reset();
  output.finish(serialize_policy(trained.policy));
  const auto best = static_cast<std::size_t>(trained.best_iteration);
  console.out << "mean cost of tasks of tables not trained on: "
              << format_short(trained.cost_ms.front()) << " ms at first, "
              << format_short(trained.cost_ms[best]) << " ms after iteration " << best << " of "
              << trained.cost_ms.size() - 1 << "\nwrote " << printable(command.output) << '\n';
  if (!command.resume) return kExitOk;
  if (guard.interrupted()) {
    console.out << "the same command goes on after the last iteration\n";
    return kExitOk;
  }
  std::error_code ignored;
  std::filesystem::remove(state_file, ignored);
  return kExitOk;
}

}  // namespace

void add_train_policy(CLI::App& train, Action& chosen) {
  const auto options = std::make_shared<TrainPolicy>();
  CLI::App* command = train.add_subcommand(
      "policy", "Networks of the algorithms dreamshard and autoshard, which place whole tables");
  command->footer(kTrainPolicyExamples);
  const command_line::OptionGroup general(*command);
  general.add("--algorithm", "NAME", options->training.algorithm, "dreamshard or autoshard")
      ->required();
  general.add("--output", "FILE", options->output, "Policy file to write (.safetensors)")
      ->required();
  CLI::Option* weights = general.add("--weights", "FILE", options->weights,
                                     "Cost models that price plans, e.g. trained on collected "
                                     "samples, in place of analytic costs");
  general
      .with_default("--hardware", "NAME", options->hardware,
                    "Hardware of the analytic costs of plans: " + known_hardware_names() +
                        ", or a datasheet as in a task")
      ->excludes(weights);
  general.add("--table-configs", "FILE", options->tables,
              "Tables to train on (table_configs.json); default: drawn as by 'generate'");
  general.flag("--resume", options->resume,
               "Keep the state of training in OUTPUT.policy.partial, and go on from it");
  const command_line::OptionGroup how(*command, "Training");
  how.with_default("--iterations", "N", options->training.iterations, "Number of iterations");
  how.with_default("--seed", "N", options->training.seed,
                   "Decides tables, tasks and start weights");
  command_line::run_if_given(*command, chosen, options, run);
}

}  // namespace neuroshard::tools
