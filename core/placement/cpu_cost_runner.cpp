#include "core/placement/cpu_cost_runner.h"

#include <algorithm>
#include <cstddef>

#include "core/models/comm_runner.h"
#include "core/models/mlp_runner.h"
#include "core/models/seen_offsets.h"
#include "core/models/symmetric_comm_features.h"
#include "neuroshard/aligned_vector.h"

namespace neuroshard {
namespace {

constexpr std::size_t kRowsOfBlock = 12;
// Inputs of the symmetric network.
constexpr std::size_t kOwnOffset = 1;
constexpr std::size_t kLastOffset = 6;
constexpr std::size_t kRowStride = padded_width(kSymmetricCommFeatures);

/// Input `i` of a network, normalised.
float input(const PackedCommNetwork& network, const float* raw, std::size_t i) {
  const float share = seen_share(raw[kLastOffset], network.most_offset_ms);
  const float seen = is_offset_input(static_cast<int>(i)) ? share * raw[i] : raw[i];
  return (seen - network.features.mean[i]) / network.features.std[i];
}

class CpuCostRunner final : public CostRunner {
 public:
  CpuCostRunner(const CpuKernels& kernels, const PackedModels& models, int devices)
      : kernels_(kernels),
        comm_(models.comm_for(devices)),
        width_(padded_width(models.compute().table_network.outputs())),
        head_(kernels, models.compute().head, /*relu_last=*/false),
        forward_(kernels, comm_.forward, devices, /*most_rows=*/1),
        backward_(kernels, comm_.backward, devices, /*most_rows=*/1),
        forward_rows_(kernels, comm_.forward.mlp, /*relu_last=*/false, kRowsOfBlock),
        backward_rows_(kernels, comm_.backward.mlp, /*relu_last=*/false, kRowsOfBlock),
        rows_(kRowsOfBlock * kRowStride) {}

  void compute(std::span<const float> sums, std::span<float> cost_ms) override {
    head_.run(sums.data(), width_, static_cast<int>(cost_ms.size()), cost_ms.data(), 1);
  }
  void forward(std::span<const float> dim_sums, std::span<const float> start_offsets_ms,
               std::span<float> cost_ms) override {
    forward_.run(dim_sums.data(), start_offsets_ms.data(), 1, cost_ms.data());
  }
  void backward(std::span<const float> dim_sums, std::span<float> cost_ms) override {
    backward_.run(dim_sums.data(), nullptr, 1, cost_ms.data());
  }
  [[nodiscard]] bool symmetric() const override { return comm_.forward.symmetric; }
  void forward_rows(std::span<const float> features, std::span<float> cost_ms) override {
    run_rows(comm_.forward, forward_rows_, features, cost_ms);
  }
  void backward_rows(std::span<const float> features, std::span<float> cost_ms) override {
    run_rows(comm_.backward, backward_rows_, features, cost_ms);
  }

 private:
  /// Few rows go one beside another through registers of outputs, many side by side, a register of
  /// rows; the results are the same to the last bit.
  void run_rows(const PackedCommNetwork& network, MlpRunner& runner,
                std::span<const float> features, std::span<float> cost_ms) {
    const std::size_t rows = cost_ms.size();
    const auto raw = [&](std::size_t row) {
      return features.data() + row * kSymmetricCommFeatures;
    };
    if (rows > kRowsOfBlock) {
      run_columns(network, features, cost_ms);
    } else {
      for (std::size_t row = 0; row < rows; ++row) {
        for (std::size_t i = 0; i < kSymmetricCommFeatures; ++i) {
          rows_[row * kRowStride + i] = input(network, raw(row), i);
        }
      }
      runner.run(rows_.data(), static_cast<int>(kRowStride), static_cast<int>(rows), cost_ms.data(),
                 1);
    }
    for (std::size_t row = 0; row < rows; ++row) {
      cost_ms[row] = with_unseen_wait(cost_ms[row], raw(row)[kOwnOffset], raw(row)[kLastOffset],
                                      seen_share(raw(row)[kLastOffset], network.most_offset_ms));
    }
  }

  void run_columns(const PackedCommNetwork& network, std::span<const float> features,
                   std::span<float> cost_ms) {
    const std::size_t rows = cost_ms.size();
    const std::size_t stride = (rows + kColumnAlignment - 1) / kColumnAlignment * kColumnAlignment;
    columns_.resize(stride * kSymmetricCommFeatures);
    for (std::size_t row = 0; row < rows; ++row) {
      const float* const raw = features.data() + row * kSymmetricCommFeatures;
      for (std::size_t i = 0; i < kSymmetricCommFeatures; ++i) {
        columns_[i * stride + row] = input(network, raw, i);
      }
    }
    layers_.clear();
    for (const PackedLayer& layer : network.mlp.layers) layers_.push_back(layer.view());
    const int width = std::max(network.mlp.scratch_width(), kSymmetricCommFeatures);
    for (auto& scratch : scratch_) scratch.resize(static_cast<std::size_t>(width) * kColumnBlock);
    kernels_.mlp_columns(layers_.data(), static_cast<int>(layers_.size()), columns_.data(),
                         static_cast<int>(stride), static_cast<int>(rows),
                         {scratch_[0].data(), scratch_[1].data()}, cost_ms.data());
  }

  const CpuKernels& kernels_;
  const PackedCommModel& comm_;
  int width_;  ///< Floats of an embedding.
  MlpRunner head_;
  CommRunner forward_;
  CommRunner backward_;
  MlpRunner forward_rows_;
  MlpRunner backward_rows_;
  AlignedVector<float> rows_;  ///< Normalised features of a block of rows.
  AlignedVector<float> columns_;
  AlignedVector<float> scratch_[2];
  std::vector<PackedLayerView> layers_;
};

}  // namespace

std::unique_ptr<CostRunner> make_cpu_cost_runner(const CpuKernels& kernels,
                                                 const PackedModels& models, int devices) {
  return std::make_unique<CpuCostRunner>(kernels, models, devices);
}

}  // namespace neuroshard
