#include "weights/training/start_scale.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace neuroshard::training {

float natural_scale(const Mlp& mlp) {
  const DenseLayer& last = mlp.layers.back();
  double squares = 0.0;
  for (const float weight : last.weight) squares += static_cast<double>(weight) * weight;
  // Random weights are uniform in +-1/sqrt(inputs): their mean square is a third of 1/inputs.
  const double scale = std::sqrt(3.0 * squares / static_cast<double>(last.outputs));
  return scale > 1e-12 ? static_cast<float>(scale) : 1.0F;
}

float fitted_factor(std::span<const float> measured_ms, std::span<const float> predicted_ms) {
  std::vector<float> ratios;
  for (std::size_t i = 0; i < measured_ms.size(); ++i) {
    if (measured_ms[i] > 0.0F && predicted_ms[i] > 0.0F) {
      ratios.push_back(measured_ms[i] / predicted_ms[i]);
    }
  }
  if (ratios.empty()) return 1.0F;
  const auto middle = ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2);
  std::ranges::nth_element(ratios, middle);
  return *middle;
}

float geometric_mean(std::span<const float> costs_ms) {
  double logs = 0.0;
  for (const float cost_ms : costs_ms) logs += std::log(std::max(cost_ms, 1e-6F));
  return static_cast<float>(std::exp(logs / static_cast<double>(costs_ms.size())));
}

}  // namespace neuroshard::training
