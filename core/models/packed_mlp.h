#pragma once

#include <vector>

#include "core/kernels/cpu_kernels.h"
#include "neuroshard/aligned_vector.h"
#include "neuroshard/cost_models.h"

namespace neuroshard {

/// Owns what a PackedLayerView shows.
struct PackedLayer {
  int inputs = 0;
  int outputs = 0;
  AlignedVector<float> weight;
  AlignedVector<float> bias;

  [[nodiscard]] PackedLayerView view() const {
    return {inputs, outputs, weight.data(), bias.data()};
  }
};

struct PackedMlp {
  std::vector<PackedLayer> layers;

  explicit PackedMlp(const Mlp& mlp);
  [[nodiscard]] int inputs() const { return layers.front().inputs; }
  [[nodiscard]] int outputs() const { return layers.back().outputs; }
  /// Floats of the widest row of activations between two layers.
  [[nodiscard]] int scratch_width() const;
};

}  // namespace neuroshard
