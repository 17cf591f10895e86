#include "weights/collection/analytic_compute.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "core/tables/access_statistics.h"
#include "neuroshard/error.h"
#include "weights/lookups/random_tables.h"

namespace neuroshard {
namespace {

using ::testing::HasSubstr;

// One table whose rows are all touched once, wide enough for whole sectors.
Table streaming_table() {
  Table table{.rows = 1 << 22, .dim = 128, .pooling_factor = 16.0};
  table.access_histogram[0] = 1.0;
  return table;
}

// The H100 without a cache.
GpuSpec uncached() {
  GpuSpec gpu = gpu_named("h100");
  gpu.l2_bytes = 0.0;
  return gpu;
}

constexpr double kLookups = 16.0 * 65536.0;
constexpr double kNs = 1e-6;  // Milliseconds of one.

TEST(AnalyticCompute, OfAStreamingTableIsTheSumOfItsTerms) {
  const std::vector<Table> tables{streaming_table()};
  const AnalyticCompute cost = analytic_compute(uncached(), tables, 65536);
  const double forward_ns = 12'700.0 + 107.0 * 16.0 + 65536.0 * (0.255 + 0.121) +
                            kLookups * (0.0107 + 0.0164 + 0.0225 + 0.326 * 0.5) +
                            65536.0 * 0.24 * 0.5;
  EXPECT_NEAR(cost.forward_ms, forward_ns * kNs, 1e-9);
  // Each lookup has a row of its own; 22 bits of rows are two passes and six eighths of one.
  const double backward_ns =
      78'500.0 + 65536.0 * 0.059 +
      kLookups * (0.0294 + 0.0363 + 0.0131 * 2.75 + 0.0477 + 0.361 + 0.225 * 0.5 + 0.27 * 2 * 0.5);
  EXPECT_NEAR(cost.backward_ms, backward_ns * kNs, 1e-9);
  EXPECT_EQ(cost.total_ms(), cost.forward_ms + cost.backward_ms);
}

TEST(AnalyticCompute, InstructionsScaleWithTheClockAndBytesWithTheMemory) {
  const std::vector<Table> tables{streaming_table()};
  const AnalyticCompute once = analytic_compute(uncached(), tables, 65536);
  GpuSpec faster = uncached();
  faster.hbm_gb_per_s *= 2.0;
  const AnalyticCompute memory = analytic_compute(faster, tables, 65536);
  EXPECT_NEAR(once.forward_ms - memory.forward_ms,
              0.5 * kNs * (kLookups * 0.326 * 0.5 + 65536.0 * 0.24 * 0.5), 1e-9);
  faster.multiprocessors *= 2;
  const AnalyticCompute both = analytic_compute(faster, tables, 65536);
  EXPECT_NEAR(both.forward_ms - 0.0127, 0.5 * (once.forward_ms - 0.0127), 1e-9);
  EXPECT_NEAR(both.backward_ms - 0.0785, 0.5 * (once.backward_ms - 0.0785), 1e-9);
  faster.multiprocessors /= 2;
  faster.clock_ghz *= 2.0;
  EXPECT_EQ(analytic_compute(faster, tables, 65536).total_ms(), both.total_ms());
}

// Rows of 4 columns beside one of 128 have its threads.
TEST(AnalyticCompute, TheWidestTableDecidesTheThreadsOfAll) {
  std::vector<Table> tables{streaming_table(), streaming_table()};
  for (Table& table : tables) table.dim = 4;
  const AnalyticCompute narrow = analytic_compute(uncached(), tables, 65536);
  const AnalyticCompute alone = analytic_compute(uncached(), std::span(tables).first(1), 65536);
  tables[1].dim = 128;
  const AnalyticCompute beside = analytic_compute(uncached(), tables, 65536);
  const AnalyticCompute wide = analytic_compute(uncached(), std::span(tables).last(1), 65536);
  const double fixed_ms = 0.0127 + 0.0785;
  const double sum_ms = alone.total_ms() + wide.total_ms() - fixed_ms;
  const double shares = 1.0 - 0.25;
  // Bags, lookups forward and backward, rows; the sort has a bit more to order, bags are as long.
  EXPECT_NEAR(beside.total_ms() - sum_ms,
              kNs * (shares * (65536.0 * 0.121 + kLookups * (0.0164 + 0.0363 + 0.361)) +
                     2.0 * kLookups * 0.0131 / 8.0 - 107.0 * 16.0),
              1e-9);
  EXPECT_GT(beside.total_ms(), narrow.total_ms());
}

TEST(AnalyticCompute, UpdatesReadAndWriteWhatTheOptimizerKeeps) {
  const auto update_ms = [&](Optimizer optimizer, int dim) {
    std::vector<Table> tables{streaming_table()};
    tables[0].dim = dim;
    tables[0].memory.optimizer = optimizer;
    return analytic_compute(uncached(), tables, 65536).backward_ms;
  };
  // Bytes of a row, where a number by row is a sector; nanoseconds of its second moment.
  for (const auto& [optimizer, bytes, ns] :
       {std::tuple(Optimizer::kRowwiseAdagrad, 32.0, 0.0),
        std::tuple(Optimizer::kAdagrad, 512.0, 0.0), std::tuple(Optimizer::kAdam, 1024.0, 1.1),
        std::tuple(Optimizer::kPartialRowwiseAdam, 544.0, 1.1)}) {
    EXPECT_NEAR(update_ms(optimizer, 128) - update_ms(Optimizer::kSgd, 128),
                kNs * kLookups * (0.27 * 2.0 * bytes / 1024.0 + ns), 1e-9);
  }
  EXPECT_NEAR(update_ms(Optimizer::kAdagrad, 4) - update_ms(Optimizer::kSgd, 4),
              kNs * kLookups * 0.27 * 2.0 * 32.0 / 1024.0, 1e-9);
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
      EXPECT_NEAR(a.backward_ms, b.backward_ms, 1e-9 * b.backward_ms);
    }
  }
}

// 16 lookups a sample and outputs of each, but bags of the sequences alone.
TEST(AnalyticCompute, WhatIsNotPooledHasAnOutputOfEachLookup) {
  std::vector<Table> tables{streaming_table()};
  const AnalyticCompute pooled = analytic_compute(uncached(), tables, 65536);
  tables[0].pooling = Pooling::kNone;
  const AnalyticCompute sequence = analytic_compute(uncached(), tables, 65536);
  EXPECT_NEAR(sequence.forward_ms - pooled.forward_ms, kNs * 0.24 * 0.5 * (kLookups - 65536.0),
              1e-9);
  // Gradients are read once by lookups in both: nothing is cached.
  EXPECT_NEAR(sequence.backward_ms, pooled.backward_ms, 1e-12);
  // Narrow rows have a kernel that takes longer.
  for (const int dim : {4, 32}) {
    tables[0].dim = dim;
    tables[0].pooling = Pooling::kSum;
    const AnalyticCompute of_sums = analytic_compute(uncached(), tables, 65536);
    tables[0].pooling = Pooling::kNone;
    const AnalyticCompute of_rows = analytic_compute(uncached(), tables, 65536);
    const double outputs_ns = 0.24 * (kLookups - 65536.0) * 4.0 * dim / 1024.0;
    EXPECT_NEAR(of_rows.forward_ms - of_sums.forward_ms,
                kNs * (outputs_ns + 65536.0 * 0.5 + kLookups * 0.114 * (24.0 + dim) / 56.0), 1e-9);
  }
}

TEST(AnalyticCompute, GradientsOfMeansAreDivided) {
  std::vector<Table> tables{streaming_table()};
  tables[0].features = 3.0;
  const AnalyticCompute sum = analytic_compute(uncached(), tables, 65536);
  tables[0].pooling = Pooling::kMean;
  const AnalyticCompute mean = analytic_compute(uncached(), tables, 65536);
  EXPECT_EQ(mean.forward_ms, sum.forward_ms);
  EXPECT_NEAR(mean.backward_ms - sum.backward_ms, 0.038 + kNs * 0.4 * 2.0 * 3.0 * 65536.0 * 0.5,
              1e-9);
}

TEST(AnalyticCompute, WeightsOfLookupsHaveGradients) {
  std::vector<Table> tables{streaming_table()};
  const AnalyticCompute plain = analytic_compute(uncached(), tables, 65536);
  tables[0].weighted = true;
  const AnalyticCompute weighted = analytic_compute(uncached(), tables, 65536);
  EXPECT_NEAR(weighted.forward_ms - plain.forward_ms, kNs * 0.0076 * kLookups, 1e-9);
  EXPECT_NEAR(weighted.backward_ms - plain.backward_ms,
              0.036 + kNs * (0.365 * 65536.0 + kLookups * (0.109 + 0.0496)), 1e-9);
  // Tables without weights have nothing of it.
  tables.push_back(streaming_table());
  const AnalyticCompute both = analytic_compute(uncached(), tables, 65536);
  tables[0].weighted = false;
  const AnalyticCompute neither = analytic_compute(uncached(), tables, 65536);
  EXPECT_NEAR(both.backward_ms - neither.backward_ms, weighted.backward_ms - plain.backward_ms,
              1e-9);
}

TEST(AnalyticCompute, WeightsMoveAsTheyAreStoredAndGradientsAsFp32) {
  const auto cost_of = [&](WeightType type, int dim) {
    std::vector<Table> tables{streaming_table()};
    tables[0].dim = dim;
    tables[0].memory.weight_type = type;
    return analytic_compute(uncached(), tables, 65536);
  };
  const AnalyticCompute fp32 = cost_of(WeightType::kFp32, 128);
  for (const auto& [type, row] :
       {std::pair(WeightType::kFp16, 256.0), std::pair(WeightType::kBf16, 256.0),
        std::pair(WeightType::kInt8, 136.0)}) {
    const AnalyticCompute cost = cost_of(type, 128);
    const double kib = (512.0 - row) / 1024.0;
    EXPECT_NEAR(fp32.forward_ms - cost.forward_ms, kNs * kLookups * 0.326 * kib, 1e-9);
    EXPECT_NEAR(fp32.backward_ms - cost.backward_ms, kNs * kLookups * 0.27 * 2.0 * kib, 1e-9);
    // Rows are at least a sector.
    EXPECT_EQ(cost_of(type, 8).total_ms(), cost_of(WeightType::kFp32, 8).total_ms());
  }
}

TEST(AnalyticCompute, RowsThatAreLookedUpOftenTakeABlockEach) {
  std::vector<Table> tables{streaming_table()};
  const auto backward_ms = [&](int bin) {
    tables[0].access_histogram = {};
    tables[0].access_histogram[bin] = 1.0;
    return analytic_compute(uncached(), tables, 65536).backward_ms;
  };
  const auto rows = [](int bin) { return kLookups / mean_touches(bin); };
  const double saved_ms =
      kNs * (rows(5) - rows(6)) * (0.0477 + 0.361 + 0.27 * 2.0 * 0.5);  // All else is alike.
  EXPECT_NEAR(backward_ms(6) - backward_ms(5), 0.036 + kNs * 28.9 * rows(6) - saved_ms, 1e-6);
}

TEST(AnalyticCompute, ReusedRowsAreReadFromMemoryOnceWhileTheyFitInTheCache) {
  Table table = streaming_table();
  table.access_histogram = {};
  table.access_histogram[10] = 1.0;  // Touched 513 ... 1024 times: about 1,400 rows.
  const std::vector<Table> tables{table};
  const double saved_ms = analytic_compute(uncached(), tables).forward_ms -
                          analytic_compute(gpu_named("h100"), tables).forward_ms;
  const double rows = kLookups / mean_touches(10);
  EXPECT_NEAR(saved_ms, kNs * (kLookups - rows) * (0.0225 + 0.326 * 0.5), 1e-9);
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
