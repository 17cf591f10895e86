#include "weights/training/comm_rows.h"

#include <algorithm>

#include "core/base/random.h"
#include "core/models/symmetric_comm_features.h"
#include "neuroshard/error.h"

namespace neuroshard::training {

CommRows::CommRows(std::span<const CommSamples> sets, CommArchitecture architecture, CommPass pass)
    : sets_(sets), architecture_(architecture), pass_(pass) {
  if (sets.empty()) throw Error("training data: no communication samples; give some");
  for (const CommSamples& set : sets) {
    const std::size_t taken_each = static_cast<std::size_t>(taken(set.devices));
    const auto& costs = pass == CommPass::kForward ? set.forward_ms : set.backward_ms;
    for (std::size_t s = 0; s < set.size(); ++s) {
      const auto sample = static_cast<std::uint32_t>(first_.back() + s);
      for (std::size_t turn = 0; turn < taken_each; ++turn) {
        const std::size_t at = s * static_cast<std::size_t>(set.devices);
        targets_.push_back(costs[at + device(sample, set.devices, static_cast<int>(turn))]);
      }
    }
    first_.push_back(first_.back() + set.size());
    first_target_.push_back(targets_.size());
  }
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

int CommRows::taken(int devices) const {
  return architecture_ == CommArchitecture::kDense ? devices : std::min(devices, kMostRows);
}

// Spread evenly from a random first one on. All of them, in order, where all are taken.
std::size_t CommRows::device(std::uint32_t sample, int devices, int turn) const {
  const int count = taken(devices);
  if (count == devices) return static_cast<std::size_t>(turn);
  const std::uint64_t all = static_cast<std::uint64_t>(devices);
  const std::uint64_t first = Random(/*seed=*/0, sample).below(all);
  return (first + static_cast<std::uint64_t>(turn) * all / static_cast<std::uint64_t>(count)) % all;
}

std::size_t CommRows::first_target(std::uint32_t sample) const {
  const std::size_t set = set_of(sample);
  return first_target_[set] +
         (sample - first_[set]) * static_cast<std::size_t>(taken(sets_[set].devices));
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
  const SharedCommFeatures shared = shared_comm_features(as_floats.data(), offsets, samples.devices,
                                                         log2_of_devices(samples.devices));
  const std::size_t count = this->rows(sample);
  for (std::size_t turn = 0; turn < count; ++turn) {
    const std::size_t r = device(sample, samples.devices, static_cast<int>(turn));
    float* row = rows + turn * stride;
    row[0] = as_floats[r];
    row[1] = offsets != nullptr ? offsets[r] : 0.0F;
    std::copy(shared.begin(), shared.end(), row + 2);
  }
}

std::span<const float> CommRows::targets(std::uint32_t sample) const {
  const std::size_t count = static_cast<std::size_t>(taken(devices(sample)));
  return std::span(targets_).subspan(first_target(sample), count);
}

}  // namespace neuroshard::training
