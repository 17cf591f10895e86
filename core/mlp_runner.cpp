#include "core/mlp_runner.h"

#include <algorithm>
#include <cstddef>

namespace neuroshard {
namespace {

// A multiple of the kernels' tile of six rows; 128 floats a row stay within the L1 cache.
constexpr int kForwardBlockRows = 24;

}  // namespace

MlpRunner::MlpRunner(const CpuKernels& kernels, const PackedMlp& mlp, bool relu_last)
    : kernels_(kernels), mlp_(mlp), relu_last_(relu_last), scratch_width_(mlp.scratch_width()) {
  if (mlp_.layers.size() == 1) return;
  for (auto& scratch : scratch_) {
    scratch.resize(static_cast<std::size_t>(kForwardBlockRows) *
                   static_cast<std::size_t>(scratch_width_));
  }
}

void MlpRunner::run(const float* in, int in_stride, int rows, float* out, int out_stride) {
  const bool one_output = mlp_.outputs() == 1;
  const bool fused_head = !relu_last_ && one_output && out_stride == 1 && mlp_.layers.size() == 2 &&
                          mlp_.layers[0].outputs > 1;
  if (fused_head) {
    kernels_.two_layer_head(mlp_.layers[0].view(), mlp_.layers[1].view(), in, in_stride, rows, out);
    return;
  }
  for (int first = 0; first < rows; first += kForwardBlockRows) {
    const int block = std::min(kForwardBlockRows, rows - first);
    const float* x = in + static_cast<std::ptrdiff_t>(first) * in_stride;
    int x_stride = in_stride;
    for (std::size_t k = 0; k < mlp_.layers.size(); ++k) {
      const bool last = k + 1 == mlp_.layers.size();
      const PackedLayerView layer = mlp_.layers[k].view();
      float* y =
          last ? out + static_cast<std::ptrdiff_t>(first) * out_stride : scratch_[k % 2].data();
      const int y_stride = last ? out_stride : scratch_width_;
      const bool relu = !last || relu_last_;
      if (layer.outputs == 1) {
        // The next layer reads a whole register.
        if (!last) std::fill_n(y, static_cast<std::ptrdiff_t>(block) * y_stride, 0.0F);
        kernels_.one_output_layer(layer, x, x_stride, block, relu, y, y_stride);
      } else {
        kernels_.dense_layer(layer, x, x_stride, block, relu, y, y_stride);
      }
      x = y;
      x_stride = y_stride;
    }
  }
}

}  // namespace neuroshard
