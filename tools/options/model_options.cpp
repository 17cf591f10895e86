#include "tools/options/model_options.h"

#include <CLI/CLI.hpp>

#include "core/base/message_text.h"
#include "neuroshard/error.h"
#include "neuroshard/task_models.h"
#include "neuroshard/weights.h"
#include "tools/command_line/options.h"
#include "tools/options/hardware_option.h"

namespace neuroshard::tools {

void add_model_options(CLI::App& command, ModelOptions& options) {
  const command_line::OptionGroup group(command,
                                        "Cost models (none given: those built into the program)");
  group.add(
      "--hardware", "NAME|FILE", options.hardware,
      "Built-in weights of " + known_hardware_names() +
          ", or a datasheet, FILE.json or its text (docs/task_format.md), in place of what the "
          "task says (default: " +
          std::string(kDefaultHardware) + ")");
  group.add("--weights", "FILE", options.weights, "Weights file (.safetensors)");
  group.add("--compute-model", "FILE", options.compute_model,
            "Published compute checkpoint (.pt); needs the next two");
  group.add("--forward-comm-model", "FILE", options.forward_comm_model,
            "Published forward communication checkpoint");
  group.add("--backward-comm-model", "FILE", options.backward_comm_model,
            "Published backward communication checkpoint");
}

LoadedModels load_models(const ModelOptions& options, std::optional<Hardware> hardware) {
  const int checkpoints = (options.compute_model.empty() ? 0 : 1) +
                          (options.forward_comm_model.empty() ? 0 : 1) +
                          (options.backward_comm_model.empty() ? 0 : 1);
  if (checkpoints > 0 && !options.weights.empty()) {
    throw Error("--weights and the checkpoint options exclude each other; give one or the other");
  }
  if (checkpoints != 0 && checkpoints != 3) {
    throw Error(
        "the published checkpoints come as three; give --compute-model, --forward-comm-model and "
        "--backward-comm-model");
  }
  if (!options.hardware.empty() && (checkpoints > 0 || !options.weights.empty())) {
    throw Error("--hardware chooses built-in weights; leave it out, or give no other models");
  }
  LoadedModels loaded;
  if (checkpoints == 3) {
    loaded.models = load_checkpoints(options.compute_model, options.forward_comm_model,
                                     options.backward_comm_model);
    loaded.place = options.compute_model;
  } else if (!options.weights.empty()) {
    loaded.models = load_weights(options.weights);
    loaded.place = options.weights;
  } else {
    if (!hardware) hardware = hardware_of_option(options.hardware);
    if (!hardware) hardware = hardware_named(kDefaultHardware);
    loaded.models = builtin_weights(*hardware);
    loaded.place = builtin_place(printable(hardware->name));
  }
  loaded.origin = origin_of(loaded.models, loaded.place);
  return loaded;
}

void require_comm_model(const LoadedModels& models, int devices) {
  if (devices < 1 || devices > kMaxDevices) return;  // The task's own check says it better.
  try {
    (void)models.models.comm_for(devices);
  } catch (const Error& error) {
    throw Error(models.place + ": " + error.what(), error.kind());
  }
}

void require_models_for(const LoadedModels& models, const LoadedTasks& tasks) {
  for (std::size_t i = 0; i < tasks.tasks.size(); ++i) {
    if (tasks.errors[i]) continue;
    require_comm_model(models, tasks.tasks[i].devices);
    try {
      require_batch(models.models, tasks.tasks[i].batch_size);
    } catch (const Error& error) {
      const std::string place = tasks.batch_is_option ? "--batch-size" : tasks.where[i];
      throw Error(place + ": " + error.what(), error.kind());
    }
  }
}

}  // namespace neuroshard::tools
