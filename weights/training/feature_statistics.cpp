#include "weights/training/feature_statistics.h"

#include <cmath>

namespace neuroshard::training {

FeatureStatistics::FeatureStatistics(int features)
    : mean_(features, 0.0), squares_(features, 0.0) {}

void FeatureStatistics::add(std::span<const float> row, double weight) {
  weight_ += weight;
  for (std::size_t i = 0; i < mean_.size(); ++i) {  // Welford's update: no cancellation.
    const double distance = row[i] - mean_[i];
    mean_[i] += distance * weight / weight_;
    squares_[i] += weight * distance * (row[i] - mean_[i]);
  }
}

bool FeatureStatistics::is_constant(std::size_t feature) const {
  return weight_ <= 1.0 || !(squares_[feature] > 0.0);
}

Normalization FeatureStatistics::normalization() const {
  Normalization result;
  for (std::size_t i = 0; i < mean_.size(); ++i) {
    const double std = is_constant(i) ? 1.0 : std::sqrt(squares_[i] / (weight_ - 1.0)) + 1e-6;
    result.mean.push_back(static_cast<float>(mean_[i]));
    result.std.push_back(static_cast<float>(std));
  }
  return result;
}

std::vector<int> FeatureStatistics::constant_features() const {
  std::vector<int> features;
  for (std::size_t i = 0; i < mean_.size(); ++i) {
    if (is_constant(i)) features.push_back(static_cast<int>(i));
  }
  return features;
}

CostScale::CostScale(const FeatureStatistics& costs) {
  const Normalization scale = costs.normalization();
  mean_ms = scale.mean.front();
  std_ms = scale.std.front();
}

void normalize(const Normalization& features, std::span<const float> row, float* out) {
  for (std::size_t i = 0; i < row.size(); ++i) {
    out[i] = (row[i] - features.mean[i]) / features.std[i];
  }
}

}  // namespace neuroshard::training
