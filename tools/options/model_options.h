#pragma once

#include <optional>
#include <string>

#include "neuroshard/cost_models.h"
#include "neuroshard/hardware.h"
#include "tools/options/task_options.h"

namespace CLI {
class App;
}

namespace neuroshard::tools {

/// Where the cost models come from: a weights file, the published trio, or (none given) the
/// library.
struct ModelOptions {
  std::string hardware;  ///< That built-in weights are of; empty: what the task says.
  std::string weights;
  std::string compute_model;
  std::string forward_comm_model;
  std::string backward_comm_model;
};

void add_model_options(CLI::App& command, ModelOptions& options);

struct LoadedModels {
  CostModels models;
  std::string place;   ///< The file, or "built-in weights".
  std::string origin;  ///< As origin_of() says it.
};

/// `hardware`: LoadedTasks::hardware, of which built-in weights are. Nothing: what --hardware says,
/// else kDefaultHardware. Throws Error if the options do not fit together or a file cannot be used.
[[nodiscard]] LoadedModels load_models(const ModelOptions& options,
                                       std::optional<Hardware> hardware = std::nullopt);

/// Throws Error naming `models.place` if there is no communication model for `devices`.
void require_comm_model(const LoadedModels& models, int devices);

/// Requires models for the devices of each valid task, and for its batch. Throws Error naming its
/// file.
void require_models_for(const LoadedModels& models, const LoadedTasks& tasks);

}  // namespace neuroshard::tools
