#include "core/models/mlp_runner.h"

#include <algorithm>
#include <cstddef>

namespace neuroshard {

MlpRunner::MlpRunner(const CpuKernels& kernels, const PackedMlp& mlp, bool relu_last, int most_rows)
    : kernels_(kernels),
      mlp_(mlp),
      relu_last_(relu_last),
      scratch_width_(mlp.scratch_width()),
      block_rows_(std::clamp(most_rows, 1, kBlockRows)) {
  // Layers write the one and the other in turn.
  for (std::size_t k = 0; k + 1 < std::min<std::size_t>(mlp_.layers.size(), 3); ++k) {
    scratch_[k].resize(static_cast<std::size_t>(block_rows_) *
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
  for (int first = 0; first < rows; first += block_rows_) {
    const int block = std::min(block_rows_, rows - first);
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
