#pragma once

#include <span>
#include <vector>

#include "core/base/host_device.h"
#include "neuroshard/cost_models.h"

namespace neuroshard::training {

/// Mean and spread of each number of a row, over weighted rows.
class FeatureStatistics {
 public:
  explicit FeatureStatistics(int features);
  void add(std::span<const float> row, double weight = 1.0);

  /// Mean, and unbiased standard deviation + 1e-6 as in the published checkpoints. An input that
  /// never varies gets 1 instead: a deviation of 1e-6 would turn the first table that differs into
  /// a feature of a million.
  [[nodiscard]] Normalization normalization() const;
  /// Inputs that never varied: nothing can be learned of them, and a network should ignore them.
  [[nodiscard]] std::vector<int> constant_features() const;

 private:
  [[nodiscard]] bool is_constant(std::size_t feature) const;

  double weight_ = 0.0;
  std::vector<double> mean_;
  std::vector<double> squares_;  ///< Weighted sum of squared distances from the mean.
};

/// Networks learn (cost - mean) / std: in milliseconds the first epochs would go into reaching the
/// size of the costs. Folded into the last layer at the end.
struct CostScale {
  CostScale() = default;
  /// `costs`: rows of one number.
  explicit CostScale(const FeatureStatistics& costs);

  [[nodiscard]] NEUROSHARD_HOST_DEVICE float milliseconds(float output) const {
    return mean_ms + std_ms * output;
  }

  float mean_ms = 0.0F;
  float std_ms = 1.0F;
};

/// `out[i] = (row[i] - mean[i]) / std[i]`.
void normalize(const Normalization& features, std::span<const float> row, float* out);

}  // namespace neuroshard::training
