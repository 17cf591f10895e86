#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "neuroshard/training.h"

namespace neuroshard::training {

enum class CommPass { kForward, kBackward };

/// Turns samples of one or more device counts into rows of a network. Samples are numbered through
/// all sets. Dense: a sample is one row with one output per device. Symmetric: one row per device
/// with one output, of at most kMostRows devices: their costs are alike, and all of them are in the
/// inputs. Either way a sample has one target per device that is taken. Borrows the samples.
class CommRows {
 public:
  static constexpr int kMostRows = 16;

  CommRows(std::span<const CommSamples> sets, CommArchitecture architecture, CommPass pass);

  [[nodiscard]] CommArchitecture architecture() const { return architecture_; }
  [[nodiscard]] int inputs() const { return inputs_; }
  [[nodiscard]] int outputs() const { return outputs_; }
  [[nodiscard]] std::size_t samples() const { return first_.back(); }
  [[nodiscard]] std::size_t sets() const { return sets_.size(); }
  [[nodiscard]] std::size_t first_of_set(std::size_t set) const { return first_[set]; }
  [[nodiscard]] int devices(std::uint32_t sample) const { return sets_[set_of(sample)].devices; }
  [[nodiscard]] std::size_t rows(std::uint32_t sample) const {
    return architecture_ == CommArchitecture::kDense ? 1 : taken(devices(sample));
  }

  /// `row` is [rows(sample), stride], not normalised; only the first inputs() columns are written.
  void inputs_of(std::uint32_t sample, std::size_t stride, float* rows) const;
  [[nodiscard]] std::span<const float> targets(std::uint32_t sample) const;

 private:
  [[nodiscard]] std::size_t set_of(std::uint32_t sample) const;
  /// How many devices of a sample are taken, and where the targets of the sample begin.
  [[nodiscard]] int taken(int devices) const;
  [[nodiscard]] std::size_t first_target(std::uint32_t sample) const;
  /// The devices of a sample that are taken: `turn`, for turns below `taken`.
  [[nodiscard]] std::size_t device(std::uint32_t sample, int devices, int turn) const;

  std::span<const CommSamples> sets_;
  CommArchitecture architecture_;
  CommPass pass_;
  std::vector<std::size_t> first_{0};         ///< First sample number of each set, then the total.
  std::vector<std::size_t> first_target_{0};  ///< First target of each set, then the total.
  std::vector<float> targets_;                ///< Targets of the devices that are taken.
  int inputs_ = 0;
  int outputs_ = 0;
};

}  // namespace neuroshard::training
