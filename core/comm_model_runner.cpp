#include "core/comm_model_runner.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "core/symmetric_comm_features.h"

namespace neuroshard {
namespace {

const Mlp& mlp_of(const CommNetwork& network) {
  return std::visit([](const auto& n) -> const Mlp& { return n.network; }, network);
}

const Normalization& features_of(const CommNetwork& network) {
  return std::visit([](const auto& n) -> const Normalization& { return n.features; }, network);
}

// Rows of the network that are in flight at once; bounds the scratch memory for any device count.
constexpr int kTargetNetworkRows = 96;

}  // namespace

PackedCommNetwork::PackedCommNetwork(const CommNetwork& network)
    : symmetric(std::holds_alternative<SymmetricCommNetwork>(network)),
      features(features_of(network)),
      mlp(mlp_of(network)) {}

CommRunner::CommRunner(const CpuKernels& kernels, const PackedCommNetwork& network, int devices)
    : network_(network),
      devices_(devices),
      input_stride_(padded_width(network.mlp.inputs())),
      output_stride_(network.symmetric ? 1 : padded_width(devices)),
      block_rows_(network.symmetric ? std::max(1, kTargetNetworkRows / devices)
                                    : kTargetNetworkRows),
      mlp_(kernels, network.mlp, /*relu_last=*/false) {
  const int network_rows = network.symmetric ? block_rows_ * devices : block_rows_;
  inputs_.resize(static_cast<std::size_t>(network_rows) * static_cast<std::size_t>(input_stride_));
  outputs_.resize(static_cast<std::size_t>(network_rows) *
                  static_cast<std::size_t>(output_stride_));
}

void CommRunner::run(const float* dim_sums, const float* start_offsets_ms, int rows,
                     float* cost_ms) {
  for (int first = 0; first < rows; first += block_rows_) {
    const int block = std::min(block_rows_, rows - first);
    const std::ptrdiff_t skip = static_cast<std::ptrdiff_t>(first) * devices_;
    const float* offsets = start_offsets_ms == nullptr ? nullptr : start_offsets_ms + skip;
    if (network_.symmetric) {
      run_symmetric(dim_sums + skip, offsets, block, cost_ms + skip);
    } else {
      run_dense(dim_sums + skip, offsets, block, cost_ms + skip);
    }
  }
}

void CommRunner::run_dense(const float* dim_sums, const float* start_offsets_ms, int rows,
                           float* cost_ms) {
  const float* mean = network_.features.mean.data();
  const float* std = network_.features.std.data();
  for (int row = 0; row < rows; ++row) {
    float* x = inputs_.data() + static_cast<std::ptrdiff_t>(row) * input_stride_;
    const std::ptrdiff_t skip = static_cast<std::ptrdiff_t>(row) * devices_;
    for (int d = 0; d < devices_; ++d) x[d] = (dim_sums[skip + d] - mean[d]) / std[d];
    if (start_offsets_ms == nullptr) continue;
    for (int d = 0; d < devices_; ++d) {
      const int i = devices_ + d;
      x[i] = (start_offsets_ms[skip + d] - mean[i]) / std[i];
    }
  }
  mlp_.run(inputs_.data(), input_stride_, rows, outputs_.data(), output_stride_);
  for (int row = 0; row < rows; ++row) {
    std::copy_n(outputs_.data() + static_cast<std::ptrdiff_t>(row) * output_stride_, devices_,
                cost_ms + static_cast<std::ptrdiff_t>(row) * devices_);
  }
}

void CommRunner::run_symmetric(const float* dim_sums, const float* start_offsets_ms, int rows,
                               float* cost_ms) {
  const float* mean = network_.features.mean.data();
  const float* std = network_.features.std.data();
  float* x = inputs_.data();
  for (int row = 0; row < rows; ++row) {
    const std::ptrdiff_t skip = static_cast<std::ptrdiff_t>(row) * devices_;
    const SymmetricCommPool pool(
        dim_sums + skip, start_offsets_ms == nullptr ? nullptr : start_offsets_ms + skip, devices_);
    for (int d = 0; d < devices_; ++d, x += input_stride_) {
      const float offset = start_offsets_ms == nullptr ? 0.0F : start_offsets_ms[skip + d];
      const auto features = pool.features(dim_sums[skip + d], offset);
      for (int i = 0; i < kSymmetricCommFeatures; ++i) x[i] = (features[i] - mean[i]) / std[i];
    }
  }
  mlp_.run(inputs_.data(), input_stride_, rows * devices_, cost_ms, 1);
}

}  // namespace neuroshard
