#include "bench/gap/device_totals.h"

#include <algorithm>
#include <cstddef>

#include "core/models/final_cost.h"
#include "core/models/symmetric_comm_features.h"

namespace neuroshard::bench {
namespace {

constexpr std::size_t kRemembered = std::size_t{1} << 14;
constexpr int kInputStride = padded_width(kSymmetricCommFeatures);

using Features = std::array<float, kSymmetricCommFeatures>;

// Indices into SharedInputs::features().
constexpr std::size_t kMeanDimSum = 2;
constexpr std::size_t kMaxDimSum = 3;
constexpr std::size_t kMinDimSum = 4;

/// What all devices share, and with it the inputs of one.
class SharedInputs {
 public:
  SharedInputs(const float* dim_sums, const float* offsets_ms, int devices)
      : shared_(shared_comm_features(dim_sums, offsets_ms, devices, log2_of_devices(devices))) {}

  [[nodiscard]] Features features(float dim_sum, float offset_ms) const {
    Features features{dim_sum, offset_ms};
    std::ranges::copy(shared_, features.begin() + 2);
    return features;
  }

 private:
  SharedCommFeatures shared_;
};

std::size_t slot_of(const Features& features) {
  // Dim sums are multiples of 4 below 2^32.
  const auto quarter = [](float dim_sum) { return static_cast<std::uint64_t>(dim_sum) / 4; };
  const std::uint64_t mixed = quarter(features[0]) + quarter(features[kMaxDimSum]) * 0x9E37U +
                              quarter(features[kMinDimSum]) * 0x85EBCA6BU;
  return mixed % kRemembered;
}

void append_row(const Features& features, const Normalization& normalization, float* row) {
  for (std::size_t i = 0; i < features.size(); ++i) {
    row[i] = (features[i] - normalization.mean[i]) / normalization.std[i];
  }
}

}  // namespace

DeviceTotals::DeviceTotals(const CpuBackend& backend, int devices)
    : comm_(backend.models().comm_for(devices)),
      devices_(devices),
      forward_(backend.kernels(), comm_.forward, devices),
      backward_(backend.kernels(), comm_.backward, devices),
      symmetric_forward_(backend.kernels(), comm_.forward.mlp, /*relu_last=*/false),
      symmetric_backward_(backend.kernels(), comm_.backward.mlp, /*relu_last=*/false),
      memory_(kRemembered) {
  const auto count = static_cast<std::size_t>(devices);
  backward_ms_.resize(count);
  offsets_ms_.resize(count);
  forward_ms_.resize(count);
  done_.resize(count);
  outputs_.resize(count);
  inputs_.resize(count * kInputStride);
}

bool DeviceTotals::compute(std::span<const float> compute_ms, std::span<const float> dim_sums,
                           std::span<const std::uint32_t> suspects, double limit_ms,
                           std::span<double> total_ms) {
  if (comm_.backward.symmetric) {
    symmetric_backward(dim_sums);
  } else {
    backward_.run(dim_sums.data(), nullptr, 1, backward_ms_.data());
  }
  start_offsets(compute_ms.data(), backward_ms_.data(), devices_, offsets_ms_.data());
  if (comm_.forward.symmetric) {
    return symmetric_forward(compute_ms, dim_sums, suspects, limit_ms, total_ms);
  }
  forward_.run(dim_sums.data(), offsets_ms_.data(), 1, forward_ms_.data());
  bool within = true;
  for (std::size_t d = 0; d < total_ms.size(); ++d) {
    total_ms[d] = static_cast<double>(compute_ms[d]) + static_cast<double>(backward_ms_[d]) +
                  static_cast<double>(forward_ms_[d]);
    within &= total_ms[d] <= limit_ms;
  }
  return within;
}

void DeviceTotals::symmetric_backward(std::span<const float> dim_sums) {
  const SharedInputs shared(dim_sums.data(), nullptr, devices_);
  asked_.clear();
  for (std::uint32_t d = 0; d < dim_sums.size(); ++d) {
    const Features features = shared.features(dim_sums[d], 0.0F);
    const Remembered& known = memory_[slot_of(features)];
    if (known.dim_sum == features[0] && known.max_dim_sum == features[kMaxDimSum] &&
        known.min_dim_sum == features[kMinDimSum] && known.mean_dim_sum == features[kMeanDimSum]) {
      backward_ms_[d] = known.cost_ms;
      continue;
    }
    append_row(features, comm_.backward.features, inputs_.data() + asked_.size() * kInputStride);
    asked_.push_back(d);
  }
  if (asked_.empty()) return;
  symmetric_backward_.run(inputs_.data(), kInputStride, static_cast<int>(asked_.size()),
                          outputs_.data(), 1);
  for (std::size_t i = 0; i < asked_.size(); ++i) {
    const std::uint32_t d = asked_[i];
    backward_ms_[d] = outputs_[i];
    const Features features = shared.features(dim_sums[d], 0.0F);
    memory_[slot_of(features)] = {.dim_sum = features[0],
                                  .max_dim_sum = features[kMaxDimSum],
                                  .min_dim_sum = features[kMinDimSum],
                                  .mean_dim_sum = features[kMeanDimSum],
                                  .cost_ms = outputs_[i]};
  }
}

bool DeviceTotals::symmetric_forward(std::span<const float> compute_ms,
                                     std::span<const float> dim_sums,
                                     std::span<const std::uint32_t> suspects, double limit_ms,
                                     std::span<double> total_ms) {
  const SharedInputs shared(dim_sums.data(), offsets_ms_.data(), devices_);
  const auto run = [&] {
    for (std::size_t i = 0; i < asked_.size(); ++i) {
      append_row(shared.features(dim_sums[asked_[i]], offsets_ms_[asked_[i]]),
                 comm_.forward.features, inputs_.data() + i * kInputStride);
    }
    symmetric_forward_.run(inputs_.data(), kInputStride, static_cast<int>(asked_.size()),
                           outputs_.data(), 1);
    bool within = true;
    for (std::size_t i = 0; i < asked_.size(); ++i) {
      const std::uint32_t d = asked_[i];
      total_ms[d] = static_cast<double>(compute_ms[d]) + static_cast<double>(backward_ms_[d]) +
                    static_cast<double>(outputs_[i]);
      within &= total_ms[d] <= limit_ms;
    }
    return within;
  };
  std::ranges::fill(done_, char{0});
  asked_.assign(suspects.begin(), suspects.end());
  for (const std::uint32_t d : suspects) done_[d] = 1;
  if (!asked_.empty() && !run()) return false;
  asked_.clear();
  for (std::uint32_t d = 0; d < dim_sums.size(); ++d) {
    if (done_[d] == 0) asked_.push_back(d);
  }
  return asked_.empty() || run();
}

}  // namespace neuroshard::bench
