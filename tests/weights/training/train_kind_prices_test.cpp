#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <random>

#include "message_of.h"
#include "neuroshard/error.h"
#include "neuroshard/training.h"
#include "temporary_folder.h"

namespace neuroshard {
namespace {

using ::testing::HasSubstr;
using testing::message_of;

const KindPrices kTruePrices = {{ShardingKind::kRow, {{0.01, 3.0, 2.0, 30.0, 5.0}}},
                                {ShardingKind::kReplicate, {{0.0, 6.0, 4.0, 8.0, 0.0}}}};

ShardAmounts amounts_of(ShardingKind kind, const KindSample& sample) {
  return kind == ShardingKind::kReplicate
             ? shard_amounts(static_cast<double>(sample.samples) / sample.devices, sample.dim,
                             sample.pooling_factor, 1.0, 1.0)
             : shard_amounts(static_cast<double>(sample.samples), sample.dim, sample.pooling_factor,
                             1.0, 1.0 / sample.devices);
}

/// Draws samples of shards on one of `devices`, all of whose costs are off by up to `error`.
KindSamples samples_of(const KindPrices& prices, const std::vector<int>& devices, double error) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  KindSamples samples;
  for (const auto& [kind, price] : prices) {
    for (int i = 0; i < 200; ++i) {
      KindSample sample{.devices = devices[static_cast<std::size_t>(i) % devices.size()],
                        .samples = 65536,
                        .dim = 4 << (i % 6),
                        .pooling_factor = std::exp2(uniform(random) * 9.0 - 2.0)};
      sample.cost_ms = static_cast<float>(price.price_ms(amounts_of(kind, sample)) *
                                          (1.0 + error * (2.0 * uniform(random) - 1.0)));
      samples[kind].push_back(sample);
    }
  }
  return samples;
}

TEST(TrainKindPrices, FindsThePrices) {
  const TrainedKindPrices trained = train_kind_prices(samples_of(kTruePrices, {2, 4, 8}, 0.0));
  ASSERT_EQ(trained.prices.size(), 2U);
  for (std::size_t i = 0; i < kShardAmounts; ++i) {
    EXPECT_NEAR(trained.prices.at(ShardingKind::kRow).ms[i],
                kTruePrices.at(ShardingKind::kRow).ms[i], 1e-3);
  }
  // A replica has all lookups of its table, so that both prices of ids are one.
  const KindPrice& replicate = trained.prices.at(ShardingKind::kReplicate);
  EXPECT_NEAR(replicate.ms[1] + replicate.ms[4], 6.0, 1e-3);
  EXPECT_NEAR(replicate.ms[2], 4.0, 1e-3);
  EXPECT_NEAR(replicate.ms[3], 8.0, 1e-3);
  ASSERT_EQ(trained.summaries.size(), 2U);
  EXPECT_EQ(trained.summaries[0].network, "row");
  EXPECT_EQ(trained.summaries[1].network, "replicate");
  for (const TrainingSummary& summary : trained.summaries) {
    EXPECT_EQ(summary.test_samples, 40U);
    EXPECT_EQ(summary.train_samples, 160U);
    EXPECT_LT(summary.tests.at(0).accuracy.mape, 1e-5);
  }
}

// On one number of devices a block's ids are always the same part of the table's.
TEST(TrainKindPrices, AmountsThatGoTogetherShareTheirCost) {
  const KindSamples samples = samples_of(kTruePrices, {16}, 0.0);
  const KindPrices prices = train_kind_prices(samples).prices;
  for (const auto& [kind, of_kind] : samples) {
    for (const KindSample& sample : of_kind) {
      const double priced_ms = prices.at(kind).price_ms(amounts_of(kind, sample));
      EXPECT_NEAR(priced_ms, sample.cost_ms, 1e-4 * sample.cost_ms);
    }
  }
}

TEST(TrainKindPrices, NumbersAreNotNegative) {
  KindSamples samples = samples_of(kTruePrices, {2, 4, 8}, 0.05);
  // More of it costs less.
  for (KindSample& sample : samples[ShardingKind::kRow]) {
    sample.cost_ms = 1.0F / static_cast<float>(1.0 + sample.pooling_factor);
  }
  const TrainedKindPrices trained = train_kind_prices(samples);
  EXPECT_NO_THROW(validate(trained.prices));
  EXPECT_LT(trained.summaries[1].tests.at(0).accuracy.mape, 0.05);
}

TEST(TrainKindPrices, RefusesWhatMakesNone) {
  const auto error = [](const auto& change) {
    KindSamples samples = samples_of(kTruePrices, {8}, 0.0);
    change(samples);
    return message_of([&] { (void)train_kind_prices(samples); });
  };
  EXPECT_THAT(error([](KindSamples& s) { s.clear(); }), HasSubstr("no samples of kinds"));
  EXPECT_THAT(error([](KindSamples& s) { s[ShardingKind::kRow].resize(9); }),
              HasSubstr("samples of kind row: there are 9; give at least 10"));
  EXPECT_THAT(error([](KindSamples& s) { s[ShardingKind::kRow][3].cost_ms = 0.0F; }),
              HasSubstr("samples of kind row: number 3 costs nothing"));
}

TEST(TrainKindPrices, ReadsSamples) {
  const TemporaryFolder folder;
  (void)folder.write("data.txt", "row 8 65536 64 2.5 0.75\nreplicate 4 1024 4 0.5 0.125\n");
  const std::filesystem::path path(folder / "");
  const KindSamples samples = read_kind_samples(std::span(&path, 1));
  ASSERT_EQ(samples.size(), 2U);
  const KindSample& row = samples.at(ShardingKind::kRow).at(0);
  EXPECT_EQ(row.devices, 8);
  EXPECT_EQ(row.samples, 65536);
  EXPECT_EQ(row.dim, 64);
  EXPECT_EQ(row.pooling_factor, 2.5);
  EXPECT_EQ(row.cost_ms, 0.75F);
  EXPECT_EQ(samples.at(ShardingKind::kReplicate).at(0).samples, 1024);
  const auto error = [&](const std::string& line) {
    (void)folder.write("data.txt", "row 8 65536 64 2.5 0.75\n" + line + "\n");
    return message_of([&] { (void)read_kind_samples(std::span(&path, 1)); });
  };
  EXPECT_THAT(error("column 8 65536 64 2.5 0.75"),
              HasSubstr("data.txt:2: kind 'column' is none of row, table_row and replicate"));
  EXPECT_THAT(error("row 8 65536 64 2.5"), HasSubstr("data.txt:2: has 5 groups"));
  EXPECT_THAT(error("row 0 65536 64 2.5 1"), HasSubstr("devices 0 is not between"));
  EXPECT_THAT(error("row 8 65536 64 -1 1"), HasSubstr("pooling factor '-1' is not a number of 0"));
  EXPECT_THAT(error("row 8 65536 64 nan 1"), HasSubstr("pooling factor 'nan'"));
  EXPECT_THAT(error("row 8 65536 64,32 1 1"), HasSubstr("more than one number"));
  EXPECT_THAT(error("row 8 65536 64 1 -1"), HasSubstr("cost is '-1'"));
}

}  // namespace
}  // namespace neuroshard
