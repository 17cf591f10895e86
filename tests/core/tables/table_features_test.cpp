#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>
#include <vector>

#include "core/tables/table_kind.h"
#include "neuroshard/cost_models.h"
#include "neuroshard/error.h"
#include "neuroshard/histogram_scale.h"

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

TEST(OperatorFeatures, AreAmountsOfTraffic) {
  Table table{
      .name = "", .rows = 1 << 20, .dim = 64, .pooling_factor = 2.0, .access_histogram = {}};
  table.access_histogram[0] = 1.0;  // Each of 131,072 lookups has a row of its own.
  std::vector<float> features;
  OperatorFeatures(kTrafficFeatures).append(table, 64, features);
  ASSERT_EQ(features.size(), table_feature_names(kTrafficFeatures).size());
  EXPECT_EQ(features[0], 1.0F);   // 131,072 ids.
  EXPECT_EQ(features[1], 32.0F);  // Rows looked up, and
  EXPECT_EQ(features[2], 32.0F);  // touched.
  EXPECT_EQ(features[3], 16.0F);  // 65,536 outputs.
  const float traffic = 8.0F + 32.0F + 32.0F + 16.0F;
  EXPECT_EQ(features[4], 0.0F);             // Just 2^20 rows.
  EXPECT_EQ(features[5], traffic * 0.25F);  // 2^25 bytes touched,
  EXPECT_EQ(features[6], 0.0F);             // 2^24 of outputs.
  EXPECT_EQ(features[7], traffic);          // All of it of rows that are touched once.
  for (int bin = 1; bin < kHistogramBins; ++bin) EXPECT_EQ(features[7 + bin], 0.0F);
}

TEST(OperatorFeatures, CountRowsAsWideAsTheirWeights) {
  Table table{
      .name = "", .rows = 1 << 20, .dim = 64, .pooling_factor = 2.0, .access_histogram = {}};
  table.access_histogram[0] = 1.0;
  const auto features_of = [&](WeightType type, int dim) {
    table.memory.weight_type = type;
    std::vector<float> features;
    OperatorFeatures(kTrafficFeatures).append(table, dim, features);
    return features;
  };
  // 131,072 rows of 128 bytes, and as many gradients of 256; outputs are fp32.
  const std::vector<float> fp16 = features_of(WeightType::kFp16, 64);
  EXPECT_EQ(fp16[0], 1.0F);
  EXPECT_EQ(fp16[1], (16.0F + 32.0F) / 2.0F);
  EXPECT_EQ(fp16[2], 16.0F);
  EXPECT_EQ(fp16[3], 16.0F);
  EXPECT_EQ(fp16[7], 8.0F + 24.0F + 16.0F + 16.0F);
  EXPECT_EQ(features_of(WeightType::kBf16, 64), fp16);
  const std::vector<float> int8 = features_of(WeightType::kInt8, 64);
  EXPECT_EQ(int8[1], (9.0F + 32.0F) / 2.0F);  // Rows of 72 bytes, scale and bias included.
  EXPECT_EQ(int8[2], 9.0F);
  EXPECT_EQ(int8[3], 16.0F);
  // Rows of 16 columns are a sector in both, those of fewer in fp32, too.
  EXPECT_EQ(features_of(WeightType::kInt8, 16), features_of(WeightType::kFp16, 16));
  EXPECT_NE(features_of(WeightType::kFp16, 16), features_of(WeightType::kFp32, 16));
  for (const int dim : {4, 8}) {
    for (const WeightType type : all_weight_types()) {
      EXPECT_EQ(features_of(type, dim), features_of(WeightType::kFp32, dim));
    }
  }
}

TEST(OperatorFeatures, PublishedOnesAreTheSameForAllSamples) {
  Table table{.name = "", .rows = 1000, .dim = 64, .pooling_factor = 2.5, .access_histogram = {}};
  table.access_histogram[2] = 1.0;
  const auto published = table_features(table, 16);
  for (const double samples : {64.0, 65536.0}) {
    std::vector<float> features;
    OperatorFeatures(kTableFeatures, samples).append(table, 16, features);
    EXPECT_EQ(features, std::vector<float>(published.begin(), published.end()));
  }
}

TEST(OperatorFeatures, AppendAllDimsOfATable) {
  Table table{.name = "", .rows = 5000, .dim = 64, .pooling_factor = 2.5, .access_histogram = {}};
  table.access_histogram[1] = 1.0;
  for (const int count : {kTableFeatures, kTrafficFeatures}) {
    const OperatorFeatures of_operator(count, 4096.0);
    std::vector<float> one_by_one;
    for (const int dim : {64, 32, 4}) of_operator.append(table, dim, one_by_one);
    std::vector<float> together;
    of_operator.append(table, std::array{64, 32, 4}, together);
    EXPECT_EQ(together, one_by_one);
    EXPECT_EQ(together.size(), 3U * static_cast<std::size_t>(count));
  }
}

TEST(OperatorFeatures, ThereAreTwoSets) {
  EXPECT_THROW(OperatorFeatures(21), Error);
  EXPECT_THROW((void)table_feature_names(0), Error);
  EXPECT_THROW(OperatorFeatures(kTrafficFeatures, 0.0), Error);
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

TEST(TableFeatures, TablesThatDifferInCostDifferInFeatures) {
  const Table table{
      .name = "a", .rows = 9, .dim = 8, .pooling_factor = 2.0, .access_histogram = {}};
  std::vector<Table> others(4, table);
  others[0].rows = 10;
  others[1].dim = 16;
  others[2].pooling_factor = 3.0;
  others[3].access_histogram[5] = 1.0;
  // One for each field of the kind but memory and the rules, which cost nothing, and two that only
  // row blocks and replicas depend on; outputs and poolings, which the published features do not
  // know; and what is said of a histogram.
  const auto& [no_split, min_width, max_slices, devices, not_devices, nodes, not_nodes, kinds] =
      table.rules;
  constexpr std::size_t kRules = std::tuple_size_v<decltype(std::tie(
      no_split, min_width, max_slices, devices, not_devices, nodes, not_nodes, kinds))>;
  EXPECT_EQ(others.size() + 7 + kRules, std::tuple_size_v<decltype(kind_of(table))>);
  for (const Table& other : others) {
    EXPECT_NE(kind_of(other), kind_of(table));
    EXPECT_NE(table_features(other, other.dim), table_features(table, table.dim));
  }
  Table renamed = table;
  renamed.name = "b";
  EXPECT_EQ(kind_of(renamed), kind_of(table));
  Table ruled = table;
  ruled.rules.no_split = true;
  EXPECT_NE(kind_of(ruled), kind_of(table));
  Table skewed = table;
  skewed.row_shares = {0.75, 0.25};
  EXPECT_NE(kind_of(skewed), kind_of(table));
  Table gathered = table;
  gathered.replica_gradients = ReplicaGradients::kTouched;
  EXPECT_NE(kind_of(gathered), kind_of(table));
  Table shared = table;
  shared.features = 2.0;
  EXPECT_NE(kind_of(shared), kind_of(table));
}

// Features that read a table alike are as many samples of one.
TEST(OperatorFeatures, OfFeaturesAreThoseOfAsManySamples) {
  const Table one{.name = {},
                  .rows = 1000,
                  .dim = 32,
                  .pooling_factor = 2.0,
                  .access_histogram = {0.5, 0.25, 0.25}};
  for (const int features : {1, 2, 5, 20}) {
    Table shared = one;
    shared.features = features;
    shared.pooling_factor = features * one.pooling_factor;
    std::vector<float> of_features;
    std::vector<float> of_samples;
    // The histogram is that of kDefaultBatchSize samples, whose lookups are as many times more.
    OperatorFeatures(kTrafficFeatures).append(shared, 16, of_features);
    Table more = one;
    const double samples = features * static_cast<double>(kDefaultBatchSize);
    more.access_histogram = HistogramScale(static_cast<double>(kDefaultBatchSize), samples)(more);
    OperatorFeatures(kTrafficFeatures, samples).append(more, 16, of_samples);
    for (int amount = 0; amount < kTrafficAmounts; ++amount) {
      EXPECT_NEAR(of_features[amount], of_samples[amount], 1e-3 * of_samples[amount])
          << features << " features: " << table_feature_names(kTrafficFeatures)[amount];
    }
  }
}

TEST(TableFeatures, TablesThatDifferInMemoryAreOfDifferentKinds) {
  const Table table{
      .name = "a", .rows = 9, .dim = 8, .pooling_factor = 2.0, .access_histogram = {}};
  std::vector<Table> others(3, table);
  others[0].memory.weight_type = WeightType::kBf16;
  others[1].memory.optimizer = Optimizer::kAdam;
  others[2].memory.batch_size = 5;
  for (const Table& other : others) {
    EXPECT_NE(kind_of(other), kind_of(table));
    EXPECT_EQ(table_features(other, 8), table_features(table, 8));
    std::vector<float> features;
    const OperatorFeatures traffic(kTrafficFeatures);
    traffic.append(table, 64, features);
    traffic.append(other, 64, features);
    const std::vector<float> of_other(features.begin() + kTrafficFeatures, features.end());
    features.resize(kTrafficFeatures);
    // Buffers cost nothing.
    EXPECT_EQ(of_other == features, &other == &others[2]);
  }
}

}  // namespace
}  // namespace neuroshard
