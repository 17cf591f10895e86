#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/host_device.h"

namespace neuroshard::gpu {

/// Networks as kernels see them: plain pointers to device memory, owned by DeviceModels.

/// Several outputs: `weight` is [ceil(inputs / 4), outputs] groups of the four weights of four
/// consecutive inputs, so that lanes that each compute one output read 16 bytes apiece, side by
/// side. Inputs are padded with weights of 0. One output: `weight` is [inputs].
struct LayerView {
  const float* weight = nullptr;
  const float* bias = nullptr;
  int inputs = 0;
  int outputs = 0;
};

struct MlpView {
  const LayerView* layers = nullptr;
  int count = 0;
  int inputs = 0;
  int outputs = 0;
  /// Floats of the widest row of inputs or outputs of a layer, a multiple of 4.
  int width = 0;
  /// Weights and biases of all layers, then `layers`, one behind the other; of a communication
  /// network its normalisation before them. `bytes` bytes, a multiple of 16.
  const std::byte* memory = nullptr;
  int bytes = 0;
};

struct NormalizationView {
  const float* mean = nullptr;
  const float* std = nullptr;
};

struct CommNetworkView {
  NormalizationView features;
  MlpView mlp;
  bool symmetric = false;
  float most_offset_ms = 3e38F;  ///< As PackedCommNetwork's.
};

struct CommView {
  CommNetworkView forward;
  CommNetworkView backward;
};

/// Rounded up to whole float4s.
NEUROSHARD_HOST_DEVICE constexpr int round_to_4(int x) { return (x + 3) / 4 * 4; }

}  // namespace neuroshard::gpu
