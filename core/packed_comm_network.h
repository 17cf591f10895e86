#pragma once

#include "core/packed_mlp.h"
#include "neuroshard/cost_models.h"

namespace neuroshard {

/// Weights of one communication network as the CPU kernels read them.
struct PackedCommNetwork {
  explicit PackedCommNetwork(const CommNetwork& network);

  bool symmetric = false;
  Normalization features;
  PackedMlp mlp;
};

}  // namespace neuroshard
