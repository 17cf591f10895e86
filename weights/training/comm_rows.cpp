#include "weights/training/comm_rows.h"

#include <algorithm>

#include "core/symmetric_comm_features.h"
#include "neuroshard/error.h"

namespace neuroshard::training {

CommRows::CommRows(std::span<const CommSamples> sets, CommArchitecture architecture, CommPass pass)
    : sets_(sets), architecture_(architecture), pass_(pass) {
  if (sets.empty()) throw Error("training data: no communication samples; give some");
  for (const CommSamples& set : sets) first_.push_back(first_.back() + set.size());
  if (architecture == CommArchitecture::kSymmetric) {
    inputs_ = kSymmetricCommFeatures;
    outputs_ = 1;
    return;
  }
  if (sets.size() > 1) {
    throw Error("training data: samples of " + std::to_string(sets.size()) +
                " device counts for one dense network; train one for each, or a symmetric one");
  }
  outputs_ = sets.front().devices;
  inputs_ = pass == CommPass::kForward ? 2 * outputs_ : outputs_;
}

std::size_t CommRows::set_of(std::uint32_t sample) const {
  const auto after = std::upper_bound(first_.begin(), first_.end(), sample);
  return static_cast<std::size_t>(after - first_.begin()) - 1;
}

void CommRows::inputs_of(std::uint32_t sample, std::size_t stride, float* rows) const {
  const std::size_t set = set_of(sample);
  const CommSamples& samples = sets_[set];
  const std::size_t devices = static_cast<std::size_t>(samples.devices);
  const std::size_t at = (sample - first_[set]) * devices;
  const std::int64_t* dim_sums = &samples.dim_sums[at];
  const float* offsets = pass_ == CommPass::kForward ? &samples.start_offsets_ms[at] : nullptr;
  if (architecture_ == CommArchitecture::kDense) {
    std::copy_n(dim_sums, devices, rows);
    if (offsets != nullptr) std::copy_n(offsets, devices, rows + devices);
    return;
  }
  thread_local std::vector<float> as_floats;
  as_floats.assign(dim_sums, dim_sums + devices);
  const PooledCommFeatures shared = pooled_comm_features(as_floats.data(), offsets, samples.devices,
                                                         log2_of_devices(samples.devices));
  for (std::size_t r = 0; r < devices; ++r) {
    float* row = rows + r * stride;
    row[0] = as_floats[r];
    row[1] = offsets != nullptr ? offsets[r] : 0.0F;
    std::copy(shared.begin(), shared.end(), row + 2);
  }
}

std::span<const float> CommRows::targets(std::uint32_t sample) const {
  const std::size_t set = set_of(sample);
  const CommSamples& samples = sets_[set];
  const std::size_t devices = static_cast<std::size_t>(samples.devices);
  const auto& costs = pass_ == CommPass::kForward ? samples.forward_ms : samples.backward_ms;
  return std::span(costs).subspan((sample - first_[set]) * devices, devices);
}

}  // namespace neuroshard::training
