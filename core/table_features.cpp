#include <algorithm>
#include <utility>

#include "neuroshard/cost_models.h"

namespace neuroshard {
namespace {

// Where each of bin_0..bin_16, dim, pooling_factor, row goes in lexicographic order of the names.
struct FeatureOrder {
  std::array<std::string, kTableFeatures> names;
  std::array<int, kTableFeatures> position{};  // Of bin_0..bin_16, dim, pooling_factor, row.

  FeatureOrder() {
    std::array<std::pair<std::string, int>, kTableFeatures> named;
    for (int bin = 0; bin < kHistogramBins; ++bin) named[bin] = {"bin_" + std::to_string(bin), bin};
    named[kHistogramBins] = {"dim", kHistogramBins};
    named[kHistogramBins + 1] = {"pooling_factor", kHistogramBins + 1};
    named[kHistogramBins + 2] = {"row", kHistogramBins + 2};
    std::sort(named.begin(), named.end());
    for (int i = 0; i < kTableFeatures; ++i) {
      names[i] = named[i].first;
      position[named[i].second] = i;
    }
  }
};

const FeatureOrder& feature_order() {
  // Never destroyed: the destructor of a static object may plan.
  static const FeatureOrder& order = *new FeatureOrder;
  return order;
}

}  // namespace

const std::array<std::string, kTableFeatures>& table_feature_names() {
  return feature_order().names;
}

std::array<float, kTableFeatures> table_features(const Table& table, int dim) {
  const auto& position = feature_order().position;
  std::array<float, kTableFeatures> features{};
  for (int bin = 0; bin < kHistogramBins; ++bin) {
    features[position[bin]] = static_cast<float>(table.access_histogram[bin]);
  }
  features[position[kHistogramBins]] = static_cast<float>(dim);
  features[position[kHistogramBins + 1]] = static_cast<float>(table.pooling_factor);
  features[position[kHistogramBins + 2]] = static_cast<float>(table.rows);
  return features;
}

}  // namespace neuroshard
