#pragma once

#include <cmath>

#include "core/base/host_device.h"
#include "neuroshard/training.h"

namespace neuroshard::training {

/// Loss of one predicted cost.
class CostLoss {
 public:
  CostLoss() = default;
  /// `mean_ms`: of the training costs.
  CostLoss(TrainingLoss loss, float mean_ms)
      : relative_(loss == TrainingLoss::kRelative), least_ms_(kLeastShare * mean_ms) {}

  [[nodiscard]] NEUROSHARD_HOST_DEVICE double operator()(float cost_ms, double error_ms) const {
    if (!relative_) return error_ms * error_ms;
    const double error = std::abs(error_ms) / size_ms(cost_ms);
    return error <= kFar ? error * error : kFar * (2.0 * error - kFar);
  }
  /// Half the derivative, in units of the error: 1 / ms^2 or (squared loss) 1.
  [[nodiscard]] NEUROSHARD_HOST_DEVICE double slope(float cost_ms, double error_ms) const {
    if (!relative_) return 1.0;
    const double size = size_ms(cost_ms);
    const double error = std::abs(error_ms) / size;
    return (error <= kFar ? 1.0 : kFar / error) / (size * size);
  }
  /// Factor of a gradient with respect to outputs in units of `std_ms`, so that Adam's epsilon
  /// means the same for every data set.
  [[nodiscard]] NEUROSHARD_HOST_DEVICE double gradient_scale(float std_ms) const {
    return relative_ ? std_ms : 1.0 / static_cast<double>(std_ms);
  }

 private:
  // Share of the mean cost. Below it errors count as if the cost were this large: no cost near zero
  // outweighs all others.
  static constexpr float kLeastShare = 0.01F;
  // Beyond this share of the cost the loss is linear (Huber): where costs span four decades, the
  // squares of the few that are many times too large would decide every step.
  static constexpr double kFar = 0.1;

  [[nodiscard]] NEUROSHARD_HOST_DEVICE double size_ms(float cost_ms) const {
    const double size = cost_ms < least_ms_ ? least_ms_ : cost_ms;
    return size > 0.0 ? size : 1.0;
  }

  bool relative_ = false;
  float least_ms_ = 0.0F;
};

}  // namespace neuroshard::training
