#pragma once

#include <string>

#include "neuroshard/cost_models.h"
#include "neuroshard/weights.h"

namespace neuroshard::tools {

/// Page of `neuroshard inspect` for cost models: metadata, networks, device counts. `name` is the
/// file's, or says where they come from.
[[nodiscard]] std::string weights_page(const CostModels& models, const std::string& name);

/// Pages of single checkpoints of the published training code.
[[nodiscard]] std::string compute_checkpoint_page(const ComputeModel& model,
                                                  const std::string& name);
[[nodiscard]] std::string comm_checkpoint_page(const CommCheckpoint& checkpoint,
                                               const std::string& name);

/// "20 -> 128 -> 32"
[[nodiscard]] std::string layer_sizes(const Mlp& mlp);

}  // namespace neuroshard::tools
