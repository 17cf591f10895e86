// The readable truth that the vector kernels are tested against.
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include "core/kernels/cpu_kernels.h"

namespace neuroshard {
namespace {

float rectified(float x) { return x > 0.0F ? x : 0.0F; }

void dense_layer(const PackedLayerView& layer, const float* in, int in_stride, int rows, bool relu,
                 float* out, int out_stride) {
  const int width = padded_width(layer.outputs);
  for (int row = 0; row < rows; ++row) {
    const float* x = in + static_cast<std::ptrdiff_t>(row) * in_stride;
    float* y = out + static_cast<std::ptrdiff_t>(row) * out_stride;
    for (int o = 0; o < width; ++o) y[o] = layer.bias[o];
    for (int i = 0; i < layer.inputs; ++i) {
      const float* weight = layer.weight + static_cast<std::ptrdiff_t>(i) * width;
      for (int o = 0; o < layer.outputs; ++o) y[o] = std::fma(weight[o], x[i], y[o]);
    }
    if (relu) {
      for (int o = 0; o < width; ++o) y[o] = rectified(y[o]);
    }
  }
}

void one_output_layer(const PackedLayerView& layer, const float* in, int in_stride, int rows,
                      bool relu, float* out, int out_stride) {
  constexpr int kPartials = 32;
  for (int row = 0; row < rows; ++row) {
    const float* x = in + static_cast<std::ptrdiff_t>(row) * in_stride;
    std::array<float, kPartials> partial{};
    for (int i = 0; i < layer.inputs; ++i) {
      partial[i % kPartials] = std::fma(layer.weight[i], x[i], partial[i % kPartials]);
    }
    for (int distance = kPartials / 2; distance > 0; distance /= 2) {
      for (int l = 0; l < distance; ++l) partial[l] += partial[l + distance];
    }
    const float y = partial[0] + layer.bias[0];
    out[static_cast<std::ptrdiff_t>(row) * out_stride] = relu ? rectified(y) : y;
  }
}

void two_layer_head(const PackedLayerView& hidden, const PackedLayerView& output, const float* in,
                    int in_stride, int rows, float* out) {
  const int width = padded_width(hidden.outputs);
  std::vector<float> activations(static_cast<std::size_t>(width));
  for (int row = 0; row < rows; ++row) {
    dense_layer(hidden, in + static_cast<std::ptrdiff_t>(row) * in_stride, in_stride, 1, true,
                activations.data(), width);
    one_output_layer(output, activations.data(), width, 1, false, out + row, 1);
  }
}

void mlp_columns(const PackedLayerView* layers, int count, const float* in, int in_stride, int rows,
                 float* const (&scratch)[2], float* out) {
  for (int row = 0; row < rows; ++row) {
    const float* x = scratch[1];
    for (int i = 0; i < layers[0].inputs; ++i) {
      scratch[1][i] = in[static_cast<std::ptrdiff_t>(i) * in_stride + row];
    }
    for (int k = 0; k < count; ++k) {
      const bool last = k + 1 == count;
      float* y = last ? out + row : scratch[k % 2];
      if (layers[k].outputs == 1) {
        one_output_layer(layers[k], x, 0, 1, !last, y, 0);
      } else {
        dense_layer(layers[k], x, 0, 1, !last, y, 0);
      }
      x = y;
    }
  }
}

void add(const float* a, const float* b, int width, float* out) {
  for (int i = 0; i < width; ++i) out[i] = a[i] + b[i];
}

float add_and_score(const PackedLayerView& hidden, const PackedLayerView& output, const float* sum,
                    const float* piece, int width, float* new_sum) {
  add(sum, piece, width, new_sum);
  float cost_ms = 0.0F;
  two_layer_head(hidden, output, new_sum, width, 1, &cost_ms);
  return cost_ms;
}

void sum_embeddings(const float* embeddings, int width, const std::uint32_t* offsets,
                    const std::uint32_t* ids, int shards, float* out) {
  for (int shard = 0; shard < shards; ++shard) {
    float* sum = out + static_cast<std::ptrdiff_t>(shard) * width;
    for (int i = 0; i < width; ++i) sum[i] = 0.0F;
    for (std::uint32_t k = offsets[shard]; k < offsets[shard + 1]; ++k) {
      add(sum, embeddings + static_cast<std::ptrdiff_t>(ids[k]) * width, width, sum);
    }
  }
}

int index_of_lowest(const float* values, int count) {
  int best = -1;
  for (int i = 0; i < count; ++i) {
    if (std::isfinite(values[i]) && (best < 0 || values[i] < values[best])) best = i;
  }
  return best;
}

int choose_device(const float* cost_ms, const std::int64_t* memory, const std::int64_t* dim_sum,
                  int devices, std::int64_t max_memory, std::int64_t max_dim_sum) {
  int best = -1;
  for (int d = 0; d < devices; ++d) {
    if (memory[d] > max_memory || dim_sum[d] > max_dim_sum) continue;
    if (!std::isfinite(cost_ms[d])) continue;
    if (best < 0 || cost_ms[d] < cost_ms[best] ||
        (cost_ms[d] == cost_ms[best] && memory[d] < memory[best])) {
      best = d;
    }
  }
  return best;
}

}  // namespace

const CpuKernels kScalarKernels = {
    .name = "scalar",
    .supported = [] { return true; },
    .dense_layer = dense_layer,
    .one_output_layer = one_output_layer,
    .two_layer_head = two_layer_head,
    .mlp_columns = mlp_columns,
    .score_published_shards = nullptr,
    .add_and_score = add_and_score,
    .add = add,
    .sum_embeddings = sum_embeddings,
    .index_of_lowest = index_of_lowest,
    .choose_device = choose_device,
};

}  // namespace neuroshard
