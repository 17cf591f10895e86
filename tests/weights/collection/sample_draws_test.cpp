#include "weights/collection/sample_draws.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "neuroshard/error.h"
#include "weights/lookups/random_tables.h"

namespace neuroshard {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ge;

TEST(RandomNumbers, AreUniformAndNormal) {
  Random random(7);
  double sum = 0.0;
  double normal_sum = 0.0;
  double normal_squares = 0.0;
  std::array<int, 6> counts{};
  constexpr int kDraws = 60000;
  for (int i = 0; i < kDraws; ++i) {
    sum += random.uniform();
    const double normal = random.normal();
    normal_sum += normal;
    normal_squares += normal * normal;
    ++counts[random.below(6)];
  }
  EXPECT_NEAR(sum / kDraws, 0.5, 0.01);
  EXPECT_NEAR(normal_sum / kDraws, 0.0, 0.02);
  EXPECT_NEAR(normal_squares / kDraws, 1.0, 0.03);
  for (const int count : counts) EXPECT_NEAR(count, kDraws / 6, 500);
}

TEST(RandomNumbers, OfDifferentStreamsDiffer) {
  std::set<std::uint64_t> first;
  for (std::uint64_t stream = 0; stream < 1000; ++stream) first.insert(Random(3, stream).next());
  for (std::uint64_t seed = 4; seed < 1000; ++seed) first.insert(Random(seed, 0).next());
  EXPECT_EQ(first.size(), 1996u);
}

TEST(DimLevels, HalveWhileHalvesAreMultiplesOfFour) {
  EXPECT_THAT(dim_levels(128), ElementsAre(128, 64, 32, 16, 8, 4));
  EXPECT_THAT(dim_levels(24), ElementsAre(24, 12));
  EXPECT_THROW((void)dim_levels(30), Error);
  EXPECT_THROW((void)dim_levels(0), Error);
}

TEST(DrawShard, FillsOneToMaxTablesWithinMemory) {
  Random random(8);
  std::vector<Table> base;
  for (int i = 0; i < 50; ++i) base.push_back(random_table(random, 128));
  const std::vector<Table> augmented = augment_dims(base);
  ASSERT_EQ(augmented.size(), 300u);
  EXPECT_EQ(augmented[50].dim, 64);
  EXPECT_EQ(augmented[50].rows, base[0].rows);

  ComputeDrawOptions options;
  std::array<int, 16> counts{};
  for (std::uint64_t i = 0; i < 3000; ++i) {
    Random stream(9, i);
    const std::vector<int> ids = draw_shard(augmented, options, stream);
    ++counts[ids.size()];
    std::int64_t bytes = 0;
    for (const int id : ids) bytes += augmented[id].size_bytes();
    EXPECT_LE(bytes, options.memory_bytes);
  }
  EXPECT_EQ(counts[0], 0);
  for (int tables = 1; tables <= 15; ++tables) EXPECT_NEAR(counts[tables], 200, 60);
}

TEST(DrawShard, DrawsSlicesOfFewTablesAndMostlyOneDim) {
  Random random(8);
  std::vector<Table> base;
  for (int i = 0; i < 200; ++i) base.push_back(random_table(random, 128));
  const std::vector<Table> augmented = augment_dims(base);
  const ComputeDrawOptions options{
      .max_tables = 300, .memory_bytes = std::int64_t{1} << 50, .slices = true};
  int single = 0;
  int hundreds = 0;
  int one_narrow_dim = 0;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    Random stream(9, i);
    const std::vector<int> ids = draw_shard(augmented, options, stream);
    ASSERT_LE(ids.size(), 300U);
    std::set<int> tables;
    std::set<int> dims;
    for (const int id : ids) {
      tables.insert(id % 200);
      dims.insert(augmented[id].dim);
    }
    EXPECT_LE(tables.size(), 16U);
    single += ids.size() == 1 ? 1 : 0;
    hundreds += ids.size() >= 100 ? 1 : 0;
    one_narrow_dim += ids.size() >= 3 && dims.size() == 1 && *dims.begin() <= 8 ? 1 : 0;
  }
  EXPECT_GT(single, 150);
  EXPECT_GT(hundreds, 250);
  EXPECT_GT(one_narrow_dim, 10);
}

TEST(DrawShard, SaysSoIfNothingFits) {
  std::vector<Table> tables(1);
  tables[0].rows = 1000;
  tables[0].dim = 128;
  ComputeDrawOptions options;
  options.memory_bytes = 1000;
  Random random(1);
  EXPECT_THROW((void)draw_shard(tables, options, random), Error);
  EXPECT_THROW((void)draw_shard({}, options, random), Error);
}

TEST(DrawComm, CoversBalanceAndOffsets) {
  for (const int devices : {1, 2, 4, 16, 128}) {
    SCOPED_TRACE(devices);
    CommDrawOptions options;
    options.devices = devices;
    double most_balanced = 1e9;
    double least_balanced = 0.0;
    double largest_offset = 0.0;
    for (std::uint64_t i = 0; i < 300; ++i) {
      Random stream(10, i);
      const CommDraw draw = draw_comm(options, stream);
      ASSERT_EQ(draw.dim_sums.size(), static_cast<std::size_t>(devices));
      ASSERT_EQ(draw.start_offsets_ms.size(), draw.dim_sums.size());
      EXPECT_THAT(draw.dim_sums, Each(Ge(0)));
      EXPECT_EQ(*std::min_element(draw.start_offsets_ms.begin(), draw.start_offsets_ms.end()), 0.0);
      const double largest =
          static_cast<double>(*std::max_element(draw.dim_sums.begin(), draw.dim_sums.end()));
      const double mean = static_cast<double>(std::accumulate(
                              draw.dim_sums.begin(), draw.dim_sums.end(), std::int64_t{0})) /
                          devices;
      most_balanced = std::min(most_balanced, largest / mean);
      least_balanced = std::max(least_balanced, largest / mean);
      for (const double offset : draw.start_offsets_ms) {
        EXPECT_EQ(offset, std::floor(offset));
        largest_offset = std::max(largest_offset, offset);
      }
    }
    EXPECT_LT(most_balanced, 1.05);
    if (devices > 1) {
      EXPECT_GT(least_balanced, 1.5);
      EXPECT_GE(largest_offset, 12.0);
      EXPECT_LT(largest_offset, 20.0);
    }
  }
}

TEST(DrawComm, ScalesTheOffsets) {
  for (std::uint64_t i = 0; i < 20; ++i) {
    Random plain(4, i);
    Random scaled(4, i);
    const CommDraw whole = draw_comm({}, plain);
    const CommDraw quarter = draw_comm({.start_offset_scale = 0.25}, scaled);
    EXPECT_EQ(quarter.dim_sums, whole.dim_sums);
    for (std::size_t r = 0; r < whole.start_offsets_ms.size(); ++r) {
      EXPECT_EQ(quarter.start_offsets_ms[r], 0.25 * whole.start_offsets_ms[r]);
    }
  }
}

// Small models on wide clusters, large ones on few devices, and what lies between.
TEST(DrawComm, DrawsEveryKindOfPlacementIfWide) {
  for (const int devices : {1, 2, 8, 64, 1024}) {
    SCOPED_TRACE(devices);
    int nothing = 0;
    int few_columns = 0;
    int thousands = 0;
    int equal = 0;
    int some_empty = 0;
    int tiny_offsets = 0;
    int large_offsets = 0;
    for (std::uint64_t i = 0; i < 400; ++i) {
      Random stream(11, i);
      const CommDraw draw = draw_comm({.devices = devices, .wide = true}, stream);
      ASSERT_EQ(draw.dim_sums.size(), static_cast<std::size_t>(devices));
      ASSERT_EQ(draw.start_offsets_ms.size(), draw.dim_sums.size());
      for (const std::int64_t dim_sum : draw.dim_sums) {
        ASSERT_GE(dim_sum, 0);
        ASSERT_EQ(dim_sum % kDimMultiple, 0);
      }
      const auto [least, most] = std::minmax_element(draw.dim_sums.begin(), draw.dim_sums.end());
      nothing += *most == 0 ? 1 : 0;
      few_columns += *most > 0 && *most <= 16 ? 1 : 0;
      thousands += *most >= 4096 ? 1 : 0;
      equal += *most > 0 && *most == *least ? 1 : 0;
      some_empty += *most > 0 && *least == 0 ? 1 : 0;
      const auto [first, last] =
          std::minmax_element(draw.start_offsets_ms.begin(), draw.start_offsets_ms.end());
      EXPECT_EQ(*first, 0.0);
      EXPECT_LT(*last, 20.0);
      tiny_offsets += *last < 2.0 ? 1 : 0;
      large_offsets += *last > 10.0 ? 1 : 0;
    }
    EXPECT_GT(nothing, 5);
    EXPECT_GT(few_columns, 40);
    EXPECT_GT(thousands, 20);
    EXPECT_GT(equal, 40);
    EXPECT_GT(tiny_offsets, 150);
    if (devices == 1) continue;
    EXPECT_GT(some_empty, 60);
    if (devices <= 2) continue;
    EXPECT_GT(large_offsets, 5);
  }
}

TEST(DrawServedSamples, AreIterationsOrADevicesPartOfThem) {
  using Samples = ComputeDrawOptions::Samples;
  Random random(5);
  EXPECT_EQ(draw_served_samples(Samples::kOfBatch, random), kDefaultBatchSize);
  int usual = 0;
  std::int64_t least = kDefaultBatchSize;
  std::int64_t most = 0;
  std::int64_t least_share = kDefaultBatchSize;
  for (int i = 0; i < 3000; ++i) {
    const std::int64_t samples = draw_served_samples(Samples::kIterations, random);
    usual += samples == kDefaultBatchSize ? 1 : 0;
    least = std::min(least, samples);
    most = std::max(most, samples);
    const std::int64_t share = draw_served_samples(Samples::kShares, random);
    least_share = std::min(least_share, share);
    EXPECT_LE(share, 4194304 / 2);
  }
  EXPECT_NEAR(usual, 1000, 150);
  EXPECT_EQ(least, 1024);
  EXPECT_EQ(most, 4194304);
  EXPECT_GE(least_share, 1);
  EXPECT_LT(least_share, 64);
}

TEST(DrawRowBlocks, HaveTheirPartOfRowsAndLookups) {
  const std::vector<Table> tables(
      500, {.name = "", .rows = 1000, .dim = 8, .pooling_factor = 10.0, .access_histogram = {}});
  Random random(5);
  for (const Table& block : draw_row_blocks(tables, random)) {
    EXPECT_GE(block.rows, 1);
    EXPECT_LE(block.rows, 500);
    const double count = 10.0 / block.pooling_factor;
    EXPECT_NEAR(count, std::round(count), 1e-9);
    EXPECT_EQ(block.rows, static_cast<std::int64_t>(1000.0 / std::round(count)));
  }
}

TEST(DrawComm, IsTheSameForTheSameStream) {
  Random a(1, 17);
  Random b(1, 17);
  EXPECT_EQ(draw_comm({}, a).dim_sums, draw_comm({}, b).dim_sums);
}

TEST(DrawComm, RefusesImpossibleOptions) {
  Random random(1);
  EXPECT_THROW((void)draw_comm({.devices = 0}, random), Error);
  EXPECT_THROW((void)draw_comm({.max_start_offset_ms = 1}, random), Error);
  EXPECT_THROW((void)draw_comm({.start_offset_scale = 0.0}, random), Error);
  EXPECT_THROW((void)draw_comm({.wide = true, .max_dim_sum = 0}, random), Error);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_THROW((void)tables_per_task(4, kInfinity, 5.0), Error);
  EXPECT_THROW((void)tables_per_task(4, 1.0, kInfinity), Error);
  EXPECT_THROW((void)tables_per_task(4, std::nan(""), 5.0), Error);
  EXPECT_THROW(
      (void)draw_comm({.min_tables_per_device = 5.0, .max_tables_per_device = 5.0}, random), Error);
}

}  // namespace
}  // namespace neuroshard
