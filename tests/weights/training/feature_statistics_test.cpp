#include "weights/training/feature_statistics.h"

#include <gtest/gtest.h>

#include "golden.h"
#include "weights/training/golden_samples.h"

namespace neuroshard::training {
namespace {

TEST(FeatureStatistics, GiveThePublishedNormalization) {
  FeatureStatistics statistics(kTableFeatures);
  for (const Table& table : testing::golden_compute_samples().tables) {
    statistics.add(table_features(table, table.dim));
  }
  const Normalization ours = statistics.normalization();
  const Normalization& published = testing::golden_models().compute.features;
  for (std::size_t i = 0; i < kTableFeatures; ++i) {
    SCOPED_TRACE(table_feature_names()[i]);
    EXPECT_NEAR(ours.mean[i], published.mean[i], 1e-5 * published.std[i]);
    EXPECT_NEAR(ours.std[i], published.std[i], 1e-4 * published.std[i]);
  }
}

TEST(FeatureStatistics, WeightsCountAsRepetitions) {
  FeatureStatistics weighted(1);
  FeatureStatistics repeated(1);
  const std::vector<float> values{1, 5, -2, 8};
  for (std::size_t i = 0; i < values.size(); ++i) {
    weighted.add(std::span(&values[i], 1), static_cast<double>(i + 1));
    for (std::size_t k = 0; k <= i; ++k) repeated.add(std::span(&values[i], 1));
  }
  EXPECT_FLOAT_EQ(weighted.normalization().mean[0], repeated.normalization().mean[0]);
  EXPECT_FLOAT_EQ(weighted.normalization().std[0], repeated.normalization().std[0]);
}

TEST(FeatureStatistics, AConstantFeatureGetsAHarmlessSpread) {
  FeatureStatistics statistics(2);
  statistics.add(std::vector<float>{3, 1});
  statistics.add(std::vector<float>{3, 2});
  EXPECT_EQ(statistics.constant_features(), std::vector<int>{0});
  EXPECT_EQ(statistics.normalization().std[0], 1.0F);
}

}  // namespace
}  // namespace neuroshard::training
