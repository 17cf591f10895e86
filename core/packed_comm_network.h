#pragma once

#include <optional>

#include "core/packed_mlp.h"
#include "neuroshard/cost_models.h"

namespace neuroshard {

/// Weights of one communication network as the CPU kernels read them.
struct PackedCommNetwork {
  /// `nodes`: CostModels'.
  explicit PackedCommNetwork(const CommNetwork& network,
                             const std::optional<NodeColumns>& nodes = std::nullopt);

  bool symmetric = false;
  Normalization features;
  PackedMlp mlp;
  std::optional<NodeColumns> nodes;
};

}  // namespace neuroshard
