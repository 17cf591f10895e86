#include <gtest/gtest.h>

#include <algorithm>

#include "neuroshard/cost_models.h"

namespace neuroshard {
namespace {

TEST(TableFeatures, NamesAreInLexicographicOrder) {
  const auto& names = table_feature_names();
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  EXPECT_EQ(names[0], "bin_0");
  EXPECT_EQ(names[2], "bin_10");
  EXPECT_EQ(names[17], "dim");
  EXPECT_EQ(names[18], "pooling_factor");
  EXPECT_EQ(names[19], "row");
}

TEST(TableFeatures, ValuesFollowTheNames) {
  Table table{.name = "", .rows = 1000, .dim = 64, .pooling_factor = 2.5, .access_histogram = {}};
  for (int bin = 0; bin < kHistogramBins; ++bin) table.access_histogram[bin] = bin / 100.0;
  const auto features = table_features(table, 16);
  const auto& names = table_feature_names();
  for (int i = 0; i < kTableFeatures; ++i) {
    if (names[i].starts_with("bin_")) {
      EXPECT_EQ(features[i], static_cast<float>(std::stoi(names[i].substr(4)) / 100.0)) << names[i];
    }
  }
  EXPECT_EQ(features[17], 16.0F);
  EXPECT_EQ(features[18], 2.5F);
  EXPECT_EQ(features[19], 1000.0F);
}

}  // namespace
}  // namespace neuroshard
