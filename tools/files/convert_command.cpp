#include <CLI/CLI.hpp>
#include <memory>

#include "neuroshard/error.h"
#include "neuroshard/task_file.h"
#include "neuroshard/weights.h"
#include "tools/command_line/options.h"
#include "tools/commands.h"
#include "tools/console/result_output.h"
#include "tools/files/hugectr_model.h"
#include "tools/files/torchrec_plan.h"
#include "tools/files/weights_page.h"
#include "tools/text/text.h"
#include "weights/files/json_reader.h"
#include "weights/files/read_file.h"

namespace neuroshard::tools {
namespace {

constexpr const char* kConvertExamples = R"(Examples:
  One weights file for 4 and 8 devices
  neuroshard convert --compute-model compute.pt \
      --forward-comm-model comm_4_fw.pt --backward-comm-model comm_4_bw.pt \
      --forward-comm-model comm_8_fw.pt --backward-comm-model comm_8_bw.pt \
      --metadata hardware="8x H200, NVLink" --output weights.safetensors
  A task of a HugeCTR model that states slot_size_array
  neuroshard convert --hugectr-model model.json --output task.json
  A plan of TorchRec, written by json.dumps(dataclasses.asdict(plan), default=str), to simulate
  neuroshard convert --torchrec-plan torchrec.json --task task.json --output plan.jsonl

The device counts are read from the checkpoints. Formats: docs/weights_format.md,
docs/task_format.md, docs/plan_format.md.)";

struct ConvertCommand {
  std::string compute_model;
  std::vector<std::string> forward_comm_models;
  std::vector<std::string> backward_comm_models;
  std::vector<std::string> metadata;
  std::string hugectr_model;
  std::string torchrec_plan;
  std::string task;
  std::string output;
};

void add_metadata(const std::string& assignment, CostModels& models) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw Error("--metadata '" + assignment + "': give KEY=TEXT, e.g. hardware=\"8x H200\"");
  }
  models.metadata[assignment.substr(0, equals)] = assignment.substr(equals + 1);
}

int convert_hugectr_model(const ConvertCommand& command, Console& console) {
  const std::string task =
      task_of_hugectr_model(read_file(command.hugectr_model, kMaxJsonBytes), command.hugectr_model);
  const TaskFile read = parse_task(task, command.output);
  ResultOutput output(console, command.output);
  output.finish(task);
  console.err << printable(command.output) << ": " << counted(read.tables.size(), "table") << ". "
              << printable(read.notes) << '\n';
  return kExitOk;
}

int convert_torchrec_plan(const ConvertCommand& command, Console& console) {
  if (command.task.empty()) {
    throw Error("--torchrec-plan names tables of a task; give the task with --task");
  }
  const ConvertedPlan plan = plan_of_torchrec(read_file(command.torchrec_plan, kMaxJsonBytes),
                                              command.torchrec_plan, load_task(command.task));
  ResultOutput output(console, command.output);
  output.finish(plan.line);
  for (const std::string& note : plan.notes) console.err << "note: " << note << '\n';
  return kExitOk;
}

int convert_checkpoints(const ConvertCommand& command, Console& console) {
  const std::size_t pairs = command.forward_comm_models.size();
  if (command.compute_model.empty() || pairs == 0) {
    throw Error(
        "checkpoints belong together; give --compute-model, --forward-comm-model and "
        "--backward-comm-model");
  }
  if (command.backward_comm_models.size() != pairs) {
    throw Error("there are " + std::to_string(pairs) + " --forward-comm-model and " +
                std::to_string(command.backward_comm_models.size()) +
                " --backward-comm-model; give them in pairs, one pair per device count");
  }
  CostModels models = load_checkpoints(command.compute_model, command.forward_comm_models[0],
                                       command.backward_comm_models[0]);
  for (std::size_t i = 1; i < pairs; ++i) {
    const std::size_t before = models.dense_comm.size();
    add_comm_checkpoints(models, command.forward_comm_models[i], command.backward_comm_models[i]);
    if (models.dense_comm.size() == before) {
      throw Error(command.forward_comm_models[i] +
                  ": an earlier pair is for as many devices; give one pair per device count");
    }
  }
  for (const std::string& assignment : command.metadata) add_metadata(assignment, models);
  save_weights(models, command.output);
  console.out << weights_page(models, command.output);
  return kExitOk;
}

/// Which of the three is asked for.
int run_convert(const ConvertCommand& command, Console& console) {
  const bool checkpoints = !command.compute_model.empty() || !command.forward_comm_models.empty() ||
                           !command.backward_comm_models.empty() || !command.metadata.empty();
  const bool hugectr = !command.hugectr_model.empty();
  const bool torchrec = !command.torchrec_plan.empty();
  if (checkpoints + hugectr + torchrec != 1) {
    throw Error(
        "convert takes one kind of input; give checkpoints (--compute-model, "
        "--forward-comm-model, --backward-comm-model), --hugectr-model or --torchrec-plan");
  }
  if (!torchrec && !command.task.empty()) {
    throw Error("--task belongs to --torchrec-plan; leave it out");
  }
  if (hugectr) return convert_hugectr_model(command, console);
  if (torchrec) return convert_torchrec_plan(command, console);
  return convert_checkpoints(command, console);
}

}  // namespace

void add_convert_command(CLI::App& program, Action& chosen) {
  const auto options = std::make_shared<ConvertCommand>();
  CLI::App* command = program.add_subcommand(
      "convert",
      "Turn files of other programs into ours: checkpoints, HugeCTR's models, TorchRec's plans");
  command->footer(kConvertExamples);
  const command_line::OptionGroup general(*command);
  general.add("--compute-model", "FILE", options->compute_model, "Compute checkpoint");
  general
      .add("--forward-comm-model", "FILE", options->forward_comm_models,
           "Forward communication checkpoint; once per device count")
      ->allow_extra_args(false);
  general
      .add("--backward-comm-model", "FILE", options->backward_comm_models,
           "Backward communication checkpoint; as many as forward ones, in their order")
      ->allow_extra_args(false);
  general
      .add("--metadata", "KEY=TEXT", options->metadata,
           "Text to keep in the file, e.g. hardware=..., source=...; may be repeated")
      ->allow_extra_args(false);
  general.add("--hugectr-model", "FILE", options->hugectr_model,
              "HugeCTR model with slot_size_array (JSON)");
  general.add("--torchrec-plan", "FILE", options->torchrec_plan,
              "ShardingPlan of TorchRec (JSON), with --task");
  general.add("--task", "FILE", options->task, "Task whose tables the plan names");
  general
      .add("--output", "FILE", options->output,
           "File to write: weights (.safetensors), task or plan")
      ->required();
  command_line::run_if_given(*command, chosen, options, run_convert);
}

}  // namespace neuroshard::tools
