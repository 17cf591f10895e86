#pragma once

#include <algorithm>

#include "neuroshard/training.h"

namespace neuroshard::training {

/// Weight of a cost's squared error in the loss.
class LossWeight {
 public:
  LossWeight() = default;
  /// `mean_ms`: of the training costs.
  LossWeight(TrainingLoss loss, float mean_ms)
      : relative_(loss == TrainingLoss::kRelative), least_ms_(kLeastShare * mean_ms) {}

  [[nodiscard]] double operator()(float cost_ms) const {
    if (!relative_) return 1.0;
    const double size_ms = std::max(cost_ms, least_ms_);
    return size_ms > 0.0 ? 1.0 / (size_ms * size_ms) : 1.0;
  }
  /// What a gradient with respect to outputs in units of `std_ms` is multiplied by, so that Adam's
  /// epsilon means the same for every data set.
  [[nodiscard]] double gradient_scale(float std_ms) const {
    return relative_ ? std_ms : 1.0 / static_cast<double>(std_ms);
  }

 private:
  // Of the mean cost. Below it errors count as if the cost were this large: no cost near zero
  // outweighs all others.
  static constexpr float kLeastShare = 0.01F;

  bool relative_ = false;
  float least_ms_ = 0.0F;
};

}  // namespace neuroshard::training
