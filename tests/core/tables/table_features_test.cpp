#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <span>
#include <string>
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

// By name.
std::map<std::string, double> operator_features(const Table& table, int dim,
                                                double samples = 65536.0) {
  std::vector<float> row;
  OperatorFeatures(kOperatorFeatures, samples).append(table, dim, row);
  const std::span<const std::string> names = table_feature_names(kOperatorFeatures);
  EXPECT_EQ(row.size(), names.size());
  std::map<std::string, double> features;
  for (std::size_t i = 0; i < names.size(); ++i) features[names[i]] = row[i];
  EXPECT_EQ(features.size(), names.size());
  return features;
}

Table streaming_table() {
  Table table{
      .name = "", .rows = 1 << 20, .dim = 64, .pooling_factor = 2.0, .access_histogram = {}};
  table.access_histogram[0] = 1.0;  // Each of 131,072 lookups has a row of its own.
  return table;
}

TEST(OperatorFeatures, AreAmountsOfWork) {
  const auto features = operator_features(streaming_table(), 64);
  const double time = 1e-3 * (0.4 * 65536 + (0.08 + 0.4) * 131072) + 0.25 * (32.0 + 64.0 + 16.0);
  EXPECT_NEAR(features.at("time_us"), time, 1e-3);
  std::map<std::string, double> others;
  const auto near_time = [&](const std::string& name, double share) {
    EXPECT_NEAR(features.at(name), time * share, 1e-3) << name;
    others[name] = features.at(name);
  };
  near_time("time_us", 1.0);
  near_time("time_log_updated", 0.5);  // 2^26 bytes are read and written,
  near_time("time_log_output", 0.0);   // 2^24 are put out,
  near_time("time_log_pooling", -0.75);
  near_time("time_over_32", 1.0);
  near_time("time_bin_0", 1.0);  // All of it in rows that are touched once.
  others["bags"] = 65536;
  others["lookups"] = 131072;
  others["rows"] = 131072;
  others["looked_up_mib"] = 32;
  others["updated_mib"] = 64;
  others["output_mib"] = 16;
  others["bag_warps"] = 32768;
  others["lookup_warps"] = 65536;
  others["row_warps"] = 65536;
  others["sorted_digits"] = 131072 * 20 / 8;
  for (const auto& [name, value] : features) {
    EXPECT_EQ(value, others.contains(name) ? others.at(name) : 0.0) << name;
  }
}

TEST(OperatorFeatures, WidthsDecideWarps) {
  const Table table = streaming_table();
  for (const auto& [dim, share, passes] :
       {std::tuple(4, 0.25, 1), std::tuple(32, 0.25, 1), std::tuple(36, 0.5, 1),
        std::tuple(64, 0.5, 1), std::tuple(68, 1.0, 1), std::tuple(128, 1.0, 1),
        std::tuple(132, 1.0, 2), std::tuple(256, 1.0, 2), std::tuple(260, 1.0, 3)}) {
    SCOPED_TRACE(dim);
    const auto features = operator_features(table, dim);
    EXPECT_EQ(features.at("bag_warps"), 65536 * share);
    EXPECT_EQ(features.at("lookup_warps"), 131072 * share * passes);
    for (const int width : {32, 64, 128, 256}) {
      EXPECT_EQ(features.at("time_over_" + std::to_string(width)),
                dim > width ? features.at("time_us") : 0.0);
    }
  }
}

TEST(OperatorFeatures, CountRowsAsWideAsTheirWeightsAndStates) {
  Table table = streaming_table();
  const auto mib = [&](WeightType type, int dim) {
    table.memory.weight_type = type;
    const auto features = operator_features(table, dim);
    return std::tuple(features.at("looked_up_mib"), features.at("updated_mib"),
                      features.at("output_mib"));
  };
  EXPECT_EQ(mib(WeightType::kFp16, 64), std::tuple(16.0, 32.0, 16.0));  // Outputs are fp32.
  EXPECT_EQ(mib(WeightType::kBf16, 64), std::tuple(16.0, 32.0, 16.0));
  EXPECT_EQ(mib(WeightType::kInt8, 64), std::tuple(9.0, 18.0, 16.0));  // Scale and bias, too.
  // Rows are a sector at least.
  for (const WeightType type : all_weight_types()) {
    EXPECT_EQ(mib(type, 4), std::tuple(4.0, 8.0, 1.0));
  }
  table.memory.optimizer = Optimizer::kAdam;
  EXPECT_EQ(mib(WeightType::kFp32, 64), std::tuple(32.0, 3 * 64.0, 16.0));
  EXPECT_EQ(operator_features(table, 64).at("two_moment_rows"), 131072);
  table.memory.optimizer = Optimizer::kAdagrad;
  EXPECT_EQ(mib(WeightType::kFp32, 64), std::tuple(32.0, 2 * 64.0, 16.0));
  EXPECT_EQ(operator_features(table, 64).at("two_moment_rows"), 0.0);
}

TEST(OperatorFeatures, SayHowATableIsPooled) {
  Table table = streaming_table();
  table.pooling = Pooling::kMean;
  EXPECT_EQ(operator_features(table, 64).at("mean_mib"), 16.0);
  table.weighted = true;
  const auto weighted = operator_features(table, 64);
  EXPECT_EQ(weighted.at("weighted_bags"), 65536);
  EXPECT_EQ(weighted.at("weighted_lookups"), 131072);
  EXPECT_EQ(weighted.at("weighted_warps"), 65536);
  table.weighted = false;
  table.pooling = Pooling::kNone;
  EXPECT_EQ(operator_features(table, 64).at("output_mib"), 32.0);
  EXPECT_EQ(operator_features(table, 64).at("narrow_rows"), 0.0);
  const auto narrow = operator_features(table, 32);
  EXPECT_EQ(narrow.at("narrow_sequences"), 65536);
  EXPECT_EQ(narrow.at("narrow_rows"), 131072);
}

TEST(OperatorFeatures, CountRowsThatAreLookedUpOften) {
  Table table = streaming_table();
  table.access_histogram = {};
  table.access_histogram[5] = 1.0;
  EXPECT_EQ(operator_features(table, 64).at("frequent_rows"), 0.0);
  table.access_histogram = {};
  table.access_histogram[6] = 1.0;
  const auto features = operator_features(table, 64);
  EXPECT_EQ(features.at("frequent_rows"), features.at("rows"));
  EXPECT_GT(features.at("rows"), 0.0);
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
  for (const int count : {kTableFeatures, kOperatorFeatures}) {
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
  EXPECT_THROW(OperatorFeatures(kOperatorFeatures, 0.0), Error);
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
  // One for each field of the kind but memory and the rules, which cost nothing, and three that
  // only row blocks and replicas depend on; outputs and poolings, which the published features do
  // not know; what is said of a histogram; and what decides how much is fetched.
  const auto& [no_split, min_width, max_slices, devices, not_devices, nodes, not_nodes, kinds,
               keep_in_hbm, hbm_share] = table.rules;
  constexpr std::size_t kRules =
      std::tuple_size_v<decltype(std::tie(no_split, min_width, max_slices, devices, not_devices,
                                          nodes, not_nodes, kinds, keep_in_hbm, hbm_share))>;
  EXPECT_EQ(others.size() + 9 + kRules, std::tuple_size_v<decltype(kind_of(table))>);
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
    OperatorFeatures(kOperatorFeatures).append(shared, 16, of_features);
    Table more = one;
    const double samples = features * static_cast<double>(kDefaultBatchSize);
    more.access_histogram = HistogramScale(static_cast<double>(kDefaultBatchSize), samples)(more);
    OperatorFeatures(kOperatorFeatures, samples).append(more, 16, of_samples);
    for (int i = 0; i < kOperatorFeatures; ++i) {
      // Histograms of more samples are not quite those of features that look up as often.
      const std::string& name = table_feature_names(kOperatorFeatures)[i];
      if (name.starts_with("time_") || name == "frequent_rows") continue;
      EXPECT_NEAR(of_features[i], of_samples[i], 1e-3 * of_samples[i])
          << features << " features: " << name;
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
    const OperatorFeatures of_operator(kOperatorFeatures);
    of_operator.append(table, 64, features);
    of_operator.append(other, 64, features);
    const std::vector<float> of_other(features.begin() + kOperatorFeatures, features.end());
    features.resize(kOperatorFeatures);
    // Buffers cost nothing.
    EXPECT_EQ(of_other == features, &other == &others[2]);
  }
}

}  // namespace
}  // namespace neuroshard
