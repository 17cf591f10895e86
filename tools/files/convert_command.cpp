#include <CLI/CLI.hpp>
#include <memory>

#include "neuroshard/error.h"
#include "neuroshard/weights.h"
#include "tools/commands.h"
#include "tools/files/weights_page.h"

namespace neuroshard::tools {
namespace {

constexpr const char* kConvertExamples = R"(Example: one weights file for 4 and 8 devices
  neuroshard convert --compute-model compute.pt \
      --forward-comm-model comm_4_fw.pt --backward-comm-model comm_4_bw.pt \
      --forward-comm-model comm_8_fw.pt --backward-comm-model comm_8_bw.pt \
      --metadata hardware="8x H200, NVLink" --output weights.safetensors

The device counts are read from the checkpoints. Formats: docs/weights_format.md.)";

struct ConvertCommand {
  std::string compute_model;
  std::vector<std::string> forward_comm_models;
  std::vector<std::string> backward_comm_models;
  std::vector<std::string> metadata;
  std::string output;
};

void add_metadata(const std::string& assignment, CostModels& models) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw Error("--metadata '" + assignment + "': give KEY=TEXT, e.g. hardware=\"8x H200\"");
  }
  models.metadata[assignment.substr(0, equals)] = assignment.substr(equals + 1);
}

int run_convert(const ConvertCommand& command, Console& console) {
  const std::size_t pairs = command.forward_comm_models.size();
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

}  // namespace

void add_convert_command(CLI::App& program, Action& chosen) {
  const auto options = std::make_shared<ConvertCommand>();
  CLI::App* command = program.add_subcommand(
      "convert", "Turn checkpoints of the published training code (.pt) into one weights file");
  command->footer(kConvertExamples);
  command->add_option("--compute-model", options->compute_model, "Compute checkpoint")
      ->type_name("FILE")
      ->required();
  command
      ->add_option("--forward-comm-model", options->forward_comm_models,
                   "Forward communication checkpoint; once per device count")
      ->type_name("FILE")
      ->allow_extra_args(false)
      ->required();
  command
      ->add_option("--backward-comm-model", options->backward_comm_models,
                   "Backward communication checkpoint; as many, in the same order")
      ->type_name("FILE")
      ->allow_extra_args(false)
      ->required();
  command
      ->add_option("--metadata", options->metadata,
                   "Kept in the file, e.g. hardware=..., source=...; may be repeated")
      ->type_name("KEY=TEXT")
      ->allow_extra_args(false);
  command->add_option("--output", options->output, "Weights file to write (.safetensors)")
      ->type_name("FILE")
      ->required();
  command->callback([options, &chosen] {
    chosen = [options](Console& console) { return run_convert(*options, console); };
  });
}

}  // namespace neuroshard::tools
