#include "core/cpu_cost_runner.h"

#include <algorithm>
#include <cstddef>

#include "core/seen_offsets.h"
#include "core/symmetric_comm_features.h"

namespace neuroshard {
namespace {

constexpr std::size_t kRowsOfBlock = 8;
// Inputs of the symmetric network.
constexpr std::size_t kOwnOffset = 1;
constexpr std::size_t kLastOffset = 6;
constexpr std::size_t kRowStride = padded_width(kSymmetricCommFeatures);

}  // namespace

CpuCostRunner::CpuCostRunner(const CpuKernels& kernels, const PackedModels& models, int devices)
    : comm_(models.comm_for(devices)),
      width_(padded_width(models.compute().table_network.outputs())),
      head_(kernels, models.compute().head, /*relu_last=*/false),
      forward_(kernels, comm_.forward, devices, /*most_rows=*/1),
      backward_(kernels, comm_.backward, devices, /*most_rows=*/1),
      forward_rows_(kernels, comm_.forward.mlp, /*relu_last=*/false, kRowsOfBlock),
      backward_rows_(kernels, comm_.backward.mlp, /*relu_last=*/false, kRowsOfBlock),
      rows_(kRowsOfBlock * kRowStride) {}

void CpuCostRunner::compute(std::span<const float> sums, std::span<float> cost_ms) {
  head_.run(sums.data(), width_, static_cast<int>(cost_ms.size()), cost_ms.data(), 1);
}

void CpuCostRunner::forward(std::span<const float> dim_sums,
                            std::span<const float> start_offsets_ms, std::span<float> cost_ms) {
  forward_.run(dim_sums.data(), start_offsets_ms.data(), 1, cost_ms.data());
}

void CpuCostRunner::backward(std::span<const float> dim_sums, std::span<float> cost_ms) {
  backward_.run(dim_sums.data(), nullptr, 1, cost_ms.data());
}

void CpuCostRunner::forward_rows(std::span<const float> features, std::span<float> cost_ms) {
  run_rows(comm_.forward, forward_rows_, features, cost_ms);
}

void CpuCostRunner::backward_rows(std::span<const float> features, std::span<float> cost_ms) {
  run_rows(comm_.backward, backward_rows_, features, cost_ms);
}

void CpuCostRunner::run_rows(const PackedCommNetwork& network, MlpRunner& runner,
                             std::span<const float> features, std::span<float> cost_ms) {
  const float* mean = network.features.mean.data();
  const float* std = network.features.std.data();
  for (std::size_t first = 0; first < cost_ms.size(); first += kRowsOfBlock) {
    const std::size_t block = std::min(kRowsOfBlock, cost_ms.size() - first);
    for (std::size_t row = 0; row < block; ++row) {
      const float* raw = features.data() + (first + row) * kSymmetricCommFeatures;
      float* x = rows_.data() + row * kRowStride;
      const float share = seen_share(raw[kLastOffset], network.most_offset_ms);
      for (int i = 0; i < kSymmetricCommFeatures; ++i) {
        x[i] = ((is_offset_input(i) ? share * raw[i] : raw[i]) - mean[i]) / std[i];
      }
    }
    runner.run(rows_.data(), static_cast<int>(kRowStride), static_cast<int>(block),
               cost_ms.data() + first, 1);
    for (std::size_t row = first; row < first + block; ++row) {
      const float* raw = features.data() + row * kSymmetricCommFeatures;
      cost_ms[row] = with_unseen_wait(cost_ms[row], raw[kOwnOffset], raw[kLastOffset],
                                      seen_share(raw[kLastOffset], network.most_offset_ms));
    }
  }
}

}  // namespace neuroshard
