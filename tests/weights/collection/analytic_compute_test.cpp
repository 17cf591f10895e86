#include "weights/collection/analytic_compute.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "neuroshard/error.h"
#include "weights/lookups/random_tables.h"

namespace neuroshard {
namespace {

using ::testing::HasSubstr;

// One table whose rows are all touched once, wide enough for whole sectors.
Table streaming_table() {
  Table table;
  table.rows = 1 << 22;
  table.dim = 128;
  table.pooling_factor = 16.0;
  table.access_histogram[0] = 1.0;
  return table;
}

TEST(AnalyticCompute, OfAStreamingTableIsItsTrafficOverBandwidth) {
  const GpuSpec gpu{"test", 1000.0, 0.0, 1e9};  // No cache, and L2 never binds.
  const std::vector<Table> tables{streaming_table()};
  const AnalyticCompute cost = analytic_compute(gpu, tables, 65536);
  const double lookups = 16.0 * 65536.0;
  const double forward_bytes = lookups * (8.0 + 512.0) + 65536.0 * (8.0 + 512.0);
  EXPECT_NEAR(cost.forward_ms, forward_bytes / 0.63e9, 1e-9);
  // 22 key bits: two passes and six eighths of one.
  EXPECT_NEAR(cost.sort_ms, 6 * lookups * (8 + 12 + 8 + 2.75 * 24 + 8) / 0.9e9, 1e-9);
  EXPECT_NEAR(cost.update_ms, lookups * (12.0 + 512.0 + 2.0 * 512.0) / 0.63e9, 1e-9);
  EXPECT_NEAR(cost.forward_pass_ms(), cost.forward_ms + 0.004, 1e-12);
}

TEST(AnalyticCompute, UpdatesReadAndWriteWhatTheOptimizerKeeps) {
  const GpuSpec gpu{"test", 1000.0, 0.0, 1e9};
  const double rows = 16.0 * 65536.0;
  const auto update_ms = [&](Optimizer optimizer, int dim) {
    std::vector<Table> tables{streaming_table()};
    tables[0].dim = dim;
    tables[0].memory.optimizer = optimizer;
    return analytic_compute(gpu, tables, 65536).update_ms;
  };
  // Bytes of a row; a number by row is a sector.
  for (const auto& [optimizer, bytes] :
       {std::pair(Optimizer::kRowwiseAdagrad, 32.0), std::pair(Optimizer::kAdagrad, 512.0),
        std::pair(Optimizer::kAdam, 1024.0), std::pair(Optimizer::kPartialRowwiseAdam, 544.0)}) {
    EXPECT_NEAR(update_ms(optimizer, 128) - update_ms(Optimizer::kSgd, 128),
                2.0 * rows * bytes / 0.63e9, 1e-9);
  }
  EXPECT_NEAR(update_ms(Optimizer::kAdam, 4) - update_ms(Optimizer::kSgd, 4),
              2.0 * rows * 64.0 / 0.63e9, 1e-9);
}

// Lookups are as many, in bags of as many more samples.
TEST(AnalyticCompute, FeaturesOfATableAreAsManySamplesOfOne) {
  Random random(1);
  for (const int features : {2, 5, 20}) {
    for (const int dim : {4, 32, 128}) {
      const Table one = random_table(random, dim);
      Table shared = one;
      shared.features = features;
      shared.pooling_factor *= features;
      const GpuSpec& gpu = gpu_named("a100-sxm-80gb");
      const AnalyticCompute a = analytic_compute(gpu, std::vector{shared}, 65536);
      const AnalyticCompute b = analytic_compute(gpu, std::vector{one}, features * 65536.0);
      EXPECT_NEAR(a.forward_ms, b.forward_ms, 1e-9 * b.forward_ms);
      EXPECT_NEAR(a.sort_ms, b.sort_ms, 1e-9 * b.sort_ms);
      EXPECT_NEAR(a.update_ms, b.update_ms, 1e-9 * b.update_ms);
      EXPECT_EQ(a.launch_ms, b.launch_ms);
    }
  }
}

// 16 lookups a sample and outputs of each, as 16 times as many samples have them, but offsets of
// the sequences alone.
TEST(AnalyticCompute, WhatIsNotPooledHasAnOutputOfEachLookup) {
  const GpuSpec gpu{"test", 1000.0, 0.0, 1e9};
  std::vector<Table> tables{streaming_table()};
  tables[0].pooling = Pooling::kNone;
  const AnalyticCompute cost = analytic_compute(gpu, tables, 65536);
  const double lookups = 16.0 * 65536.0;
  const double forward_bytes = lookups * (8.0 + 512.0 + 512.0) + 65536.0 * 8.0;
  EXPECT_NEAR(cost.forward_ms, forward_bytes / 0.63e9, 1e-9);
  EXPECT_NEAR(cost.update_ms, lookups * (12.0 + 512.0 + 2.0 * 512.0) / 0.63e9, 1e-9);
  // Gradients are read once by lookups, whatever fits in the cache.
  const GpuSpec cached{"test", 1000.0, 1e9, 1e9};
  EXPECT_EQ(analytic_compute(cached, tables, 65536).update_ms, cost.update_ms);
  Random random(2);
  for (const int dim : {4, 32, 128}) {
    const Table one = random_table(random, dim);
    Table unpooled = one;
    unpooled.pooling = Pooling::kNone;
    Table single = one;
    single.pooling_factor = 1.0;
    const GpuSpec& a100 = gpu_named("a100-sxm-80gb");
    const AnalyticCompute a = analytic_compute(a100, std::vector{unpooled}, 65536);
    const AnalyticCompute b =
        analytic_compute(a100, std::vector{single}, one.pooling_factor * 65536.0);
    EXPECT_NEAR(a.sort_ms, b.sort_ms, 1e-9 * b.sort_ms);
    EXPECT_NEAR(a.update_ms, b.update_ms, 1e-9 * b.update_ms);
  }
}

TEST(AnalyticCompute, GradientsOfMeansAreDivided) {
  const GpuSpec gpu{"test", 1000.0, 0.0, 1e9};
  std::vector<Table> tables{streaming_table()};
  tables[0].features = 3.0;
  const AnalyticCompute sum = analytic_compute(gpu, tables, 65536);
  tables[0].pooling = Pooling::kMean;
  const AnalyticCompute mean = analytic_compute(gpu, tables, 65536);
  EXPECT_EQ(mean.forward_ms, sum.forward_ms);
  EXPECT_EQ(mean.sort_ms, sum.sort_ms);
  EXPECT_NEAR(mean.update_ms - sum.update_ms, 2.0 * 3.0 * 65536.0 * 512.0 / 0.9e9, 1e-9);
  EXPECT_NEAR(mean.launch_ms - sum.launch_ms, 0.004, 1e-12);
}

TEST(AnalyticCompute, WeightsOfLookupsAreReadSortedAndHaveGradients) {
  const GpuSpec gpu{"test", 1000.0, 0.0, 1e9};
  std::vector<Table> tables{streaming_table()};
  const AnalyticCompute plain = analytic_compute(gpu, tables, 65536);
  tables[0].weighted = true;
  const AnalyticCompute weighted = analytic_compute(gpu, tables, 65536);
  const double lookups = 16.0 * 65536.0;
  EXPECT_NEAR(weighted.forward_ms - plain.forward_ms, 4.0 * lookups / 0.63e9, 1e-9);
  EXPECT_NEAR(weighted.sort_ms - plain.sort_ms, lookups * (8 + 2.75 * 24) / 0.9e9, 1e-9);
  // The update reads them; their gradients take another forward pass.
  EXPECT_NEAR(weighted.update_ms - plain.update_ms, 4.0 * lookups / 0.63e9 + weighted.forward_ms,
              1e-9);
  EXPECT_NEAR(weighted.launch_ms - plain.launch_ms, 0.004 * (1 + 1 + 3), 1e-12);
  // Tables without weights have nothing of it.
  tables.push_back(streaming_table());
  const AnalyticCompute both = analytic_compute(gpu, tables, 65536);
  tables[0].weighted = false;
  const AnalyticCompute neither = analytic_compute(gpu, tables, 65536);
  EXPECT_NEAR(both.update_ms - neither.update_ms, weighted.update_ms - plain.update_ms, 1e-9);
}

TEST(AnalyticCompute, WeightsMoveAsTheyAreStoredAndGradientsAsFp32) {
  const GpuSpec gpu{"test", 1000.0, 0.0, 1e9};
  const double lookups = 16.0 * 65536.0;
  const auto cost_of = [&](WeightType type, int dim) {
    std::vector<Table> tables{streaming_table()};
    tables[0].dim = dim;
    tables[0].memory.weight_type = type;
    return analytic_compute(gpu, tables, 65536);
  };
  for (const auto& [type, row] :
       {std::pair(WeightType::kFp16, 256.0), std::pair(WeightType::kBf16, 256.0),
        std::pair(WeightType::kInt8, 136.0)}) {
    const AnalyticCompute cost = cost_of(type, 128);
    const double forward_bytes = lookups * (8.0 + row) + 65536.0 * (8.0 + 512.0);
    EXPECT_NEAR(cost.forward_ms, forward_bytes / 0.63e9, 1e-9);
    EXPECT_NEAR(cost.update_ms, lookups * (12.0 + 512.0 + 2.0 * row) / 0.63e9, 1e-9);
    EXPECT_EQ(cost.sort_ms, cost_of(WeightType::kFp32, 128).sort_ms);
    // Rows are at least a sector.
    EXPECT_EQ(cost_of(type, 8).total_ms(), cost_of(WeightType::kFp32, 8).total_ms());
  }
}

TEST(AnalyticCompute, ReusedRowsAreReadFromMemoryOnceWhileTheyFitInTheCache) {
  Table table = streaming_table();
  table.access_histogram = {};
  table.access_histogram[10] = 1.0;  // Touched 513 ... 1024 times: about 1,400 rows.
  const std::vector<Table> tables{table};
  const GpuSpec cached{"cached", 1000.0, 40e6, 1e9};
  const GpuSpec uncached{"uncached", 1000.0, 0.0, 1e9};
  const double lookups = 16.0 * 65536.0;
  const double saved_ms =
      analytic_compute(uncached, tables).forward_ms - analytic_compute(cached, tables).forward_ms;
  EXPECT_NEAR(saved_ms, (lookups - 1400.0) * 512.0 / 0.63e9, 0.01);
}

TEST(AnalyticCompute, GrowsWithEveryTableAndDim) {
  Random random(2);
  for (const GpuSpec& gpu : known_gpus()) {
    for (int i = 0; i < 100; ++i) {
      SCOPED_TRACE(i);
      std::vector<Table> tables;
      double before = 0.0;
      for (int t = 0; t < 8; ++t) {
        tables.push_back(random_table(random, 4));
        double cost = analytic_compute(gpu, tables).total_ms();
        EXPECT_GT(cost, before);
        for (const int dim : {8, 16, 32, 64, 128}) {
          tables.back().dim = dim;
          const double wider = analytic_compute(gpu, tables).total_ms();
          EXPECT_GT(wider, cost);
          cost = wider;
        }
        before = cost;
      }
    }
  }
}

TEST(AnalyticCompute, IsLessForAFusedShardThanForItsTables) {
  Random random(3);
  const GpuSpec& gpu = gpu_named(kDefaultGpu);
  std::vector<Table> tables;
  double alone_ms = 0.0;
  for (int t = 0; t < 10; ++t) {
    tables.push_back(random_table(random, 16));
    alone_ms += analytic_compute(gpu, {&tables.back(), 1}).total_ms();
  }
  EXPECT_LT(analytic_compute(gpu, tables).total_ms(), alone_ms);
}

TEST(AnalyticCompute, DoesNotDependOnTheOrderOfTables) {
  Random random(4);
  std::vector<Table> tables;
  for (int t = 0; t < 10; ++t) tables.push_back(random_table(random, 32));
  const double cost = analytic_compute(gpu_named(kDefaultGpu), tables).total_ms();
  std::reverse(tables.begin(), tables.end());
  EXPECT_NEAR(analytic_compute(gpu_named(kDefaultGpu), tables).total_ms(), cost, 1e-12 * cost);
}

TEST(AnalyticCompute, OfNoTablesIsZero) {
  EXPECT_EQ(analytic_compute(gpu_named(kDefaultGpu), {}).total_ms(), 0.0);
}

TEST(KnownGpus, AnUnknownNameListsThem) {
  try {
    (void)gpu_named("abacus");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("abacus"));
    EXPECT_THAT(error.what(), HasSubstr("h100-sxm-80gb"));
  }
}

}  // namespace
}  // namespace neuroshard
