#include "core/models/packed_mlp.h"

#include <algorithm>
#include <cstddef>

namespace neuroshard {
namespace {

PackedLayer pack(const DenseLayer& layer) {
  PackedLayer packed{.inputs = layer.inputs, .outputs = layer.outputs, .weight = {}, .bias = {}};
  packed.bias.assign(static_cast<std::size_t>(padded_width(layer.outputs)), 0.0F);
  std::copy(layer.bias.begin(), layer.bias.end(), packed.bias.begin());
  if (layer.outputs == 1) {
    packed.weight.assign(static_cast<std::size_t>(padded_width(layer.inputs)), 0.0F);
    std::copy(layer.weight.begin(), layer.weight.end(), packed.weight.begin());
    return packed;
  }
  const auto inputs = static_cast<std::size_t>(layer.inputs);
  const auto outputs = static_cast<std::size_t>(layer.outputs);
  const std::size_t stride = packed.bias.size();
  packed.weight.assign(inputs * stride, 0.0F);
  for (std::size_t o = 0; o < outputs; ++o) {
    for (std::size_t i = 0; i < inputs; ++i) {
      packed.weight[i * stride + o] = layer.weight[o * inputs + i];
    }
  }
  return packed;
}

}  // namespace

PackedMlp::PackedMlp(const Mlp& mlp) {
  layers.reserve(mlp.layers.size());
  for (const DenseLayer& layer : mlp.layers) layers.push_back(pack(layer));
}

int PackedMlp::scratch_width() const {
  int width = 0;
  for (const PackedLayer& layer : layers) width = std::max(width, padded_width(layer.outputs));
  return width;
}

}  // namespace neuroshard
