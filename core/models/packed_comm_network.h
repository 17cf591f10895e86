#pragma once

#include <limits>
#include <optional>

#include "core/models/packed_mlp.h"
#include "neuroshard/cost_models.h"

namespace neuroshard {

/// Weights of one communication network as the CPU kernels read them.
struct PackedCommNetwork {
  /// `nodes`: CostModels'.
  /// `most_offset_ms`: TrainingRanges::most_start_offset_ms().
  explicit PackedCommNetwork(const CommNetwork& network,
                             const std::optional<NodeColumns>& nodes = std::nullopt,
                             double most_offset_ms = std::numeric_limits<double>::infinity());

  bool symmetric = false;
  Normalization features;
  PackedMlp mlp;
  std::optional<NodeColumns> nodes;
  float most_offset_ms;  ///< The latest start that it knows (core/models/seen_offsets.h).
};

}  // namespace neuroshard
