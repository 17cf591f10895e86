#include "bench/gpu/blas_head.h"

#include <algorithm>

#include "bench/gpu/blas_kernels.h"

namespace neuroshard::bench {
namespace {

std::size_t in_whole_quads(std::size_t floats) { return (floats + 3) / 4 * 4; }

float* floats_of(const gpu::DeviceBuffer& buffer) {
  return reinterpret_cast<float*>(buffer.data());
}

}  // namespace

BlasHead::BlasHead(const Mlp& head, int rows_at_once) : rows_at_once_(rows_at_once) {
  std::vector<float> image;
  const auto append = [&](const std::vector<float>& values) {
    const std::size_t at = image.size();
    image.insert(image.end(), values.begin(), values.end());
    image.resize(in_whole_quads(image.size()));
    return at;
  };
  std::vector<std::pair<std::size_t, std::size_t>> places;
  int widest = 0;
  for (const DenseLayer& layer : head.layers) {
    const std::size_t weight = append(layer.weight);
    places.emplace_back(weight, append(layer.bias));
    widest = std::max(widest, layer.outputs);
  }
  weights_.reserve(image.size() * sizeof(float));
  for (std::size_t k = 0; k < head.layers.size(); ++k) {
    layers_.push_back({head.layers[k].inputs, head.layers[k].outputs,
                       floats_of(weights_) + places[k].first,
                       floats_of(weights_) + places[k].second});
  }
  const gpu::Stream stream;
  stream.copy_to_device(weights_.data(), reinterpret_cast<const std::byte*>(image.data()),
                        image.size() * sizeof(float));
  stream.synchronize();

  const auto rows = static_cast<std::size_t>(rows_at_once);
  // A row of sums has the width of an embedding: the inputs, rounded up to a multiple of 8.
  sums_.reserve(rows * static_cast<std::size_t>((head.inputs() + 7) / 8 * 8) * sizeof(float));
  for (gpu::DeviceBuffer& buffer : activations_) {
    buffer.reserve(rows * static_cast<std::size_t>(widest) * sizeof(float));
  }
}

void BlasHead::run(gpu::DeviceBlas& blas, const DeviceShards& shards, float* cost_ms,
                   cudaStream_t stream) const {
  for (int first = 0; first < shards.shards; first += rows_at_once_) {
    const int rows = std::min(rows_at_once_, shards.shards - first);
    sum_embeddings(shards.embeddings, shards.width, shards.offsets + first, shards.piece_ids, rows,
                   floats_of(sums_), stream);
    const float* in = floats_of(sums_);
    int stride = shards.width;
    for (std::size_t k = 0; k < layers_.size(); ++k) {
      const Layer& layer = layers_[k];
      const bool last = k + 1 == layers_.size();
      float* out = last ? cost_ms + first : floats_of(activations_[k % 2]);
      if (layer.outputs == 1) {
        blas.multiply_vector_transposed(layer.inputs, rows, in, stride, layer.weight, out);
      } else {
        blas.multiply(gpu::Operand::kTransposed, gpu::Operand::kPlain, layer.outputs, rows,
                      layer.inputs, layer.weight, layer.inputs, in, stride, out, layer.outputs);
      }
      add_bias(out, rows, layer.outputs, layer.bias, !last, stream);
      in = out;
      stride = layer.outputs;
    }
  }
}

}  // namespace neuroshard::bench
