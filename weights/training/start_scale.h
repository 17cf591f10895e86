#pragma once

#include <span>

#include "neuroshard/cost_models.h"

namespace neuroshard::training {

/// A unit of costs in which the last layer's weights are as large as random ones begin, so that the
/// usual learning rates suit a network that was trained before.
[[nodiscard]] float natural_scale(const Mlp& mlp);

/// The factor that predictions are multiplied by: the median of measured over predicted, of costs
/// that are both positive; 1 if there are none.
[[nodiscard]] float fitted_factor(std::span<const float> measured_ms,
                                  std::span<const float> predicted_ms);

/// exp(mean(log(costs))), of costs of at least a nanosecond.
[[nodiscard]] float geometric_mean(std::span<const float> costs_ms);

}  // namespace neuroshard::training
