// Tables that several features read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "message_of.h"
#include "neuroshard/backend.h"
#include "neuroshard/fingerprint.h"
#include "neuroshard/planner.h"
#include "neuroshard/simulator.h"
#include "neuroshard/task_file.h"
#include "neuroshard/weights.h"
#include "neuroshard/zipf_histogram.h"
#include "weights/collection/analytic_plan_cost.h"

namespace neuroshard {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string table_with(const std::string& fields) {
  return R"({"format": "neuroshard.task", "version": 1, "tables": [{"row": 1000, "dim": 16, )" +
         fields + "}]}";
}

TEST(SharedTables, FeaturesAreACountOrAList) {
  const auto read = [](const std::string& fields) {
    return parse_task(table_with(fields), "a.json").tables.front();
  };
  const Table alone = read(R"("pooling_factor": 6)");
  EXPECT_EQ(alone.features, 1.0);
  const Table counted = read(R"("pooling_factor": 6, "features": 3)");
  EXPECT_EQ(counted.features, 3.0);
  EXPECT_EQ(counted.pooling_factor, 6.0);
  EXPECT_EQ(counted.access_histogram, alone.access_histogram);
  const Table listed = read(
      R"("features": [{"pooling_factor": 1}, {"pooling_factor": 8, "batch_share": 0.5}, {"pooling_factor": 1}])");
  EXPECT_EQ(listed.features, 2.5);
  EXPECT_EQ(listed.pooling_factor, 6.0);
  EXPECT_EQ(listed.access_histogram, alone.access_histogram);
}

TEST(SharedTables, ErrorsNameTableFieldAndRemedy) {
  const auto error = [](const std::string& fields) {
    return testing::message_of([&] { (void)parse_task(table_with(fields), "a.json"); });
  };
  EXPECT_THAT(error(R"("pooling_factor": 1, "features": 0)"),
              StartsWith("a.json: table 0: features is 0; give a number above 0, at most 4096"));
  EXPECT_THAT(error(R"("pooling_factor": 1, "features": 5000)"),
              StartsWith("a.json: table 0: features is 5000; give a number between"));
  EXPECT_THAT(error(R"("features": [])"),
              StartsWith("a.json: table 0: features is empty; give at least one, or leave it out"));
  EXPECT_THAT(error(R"("features": 2)"), HasSubstr("the field 'pooling_factor' is missing"));
  EXPECT_THAT(error(R"("pooling_factor": 2, "features": [{"pooling_factor": 2}])"),
              StartsWith("a.json: table 0: gives both a list of features"));
  EXPECT_THAT(error(R"("features": [{"pooling_factor": 2}, {"batch_share": 0.5}])"),
              StartsWith("a.json: table 0: features: number 1: the field 'pooling_factor'"));
  EXPECT_THAT(error(R"("features": [{"pooling_factor": 2, "batch_share": 0}])"),
              HasSubstr("features: number 0: batch_share is 0; give a number above 0, or leave"));
  EXPECT_THAT(error(R"("features": [{"pooling_factor": 2, "share": 1}])"),
              HasSubstr("features: number 0: unknown field 'share'"));
}

constexpr int kTables = 31;

/// A table that 20 features read, among others.
Task shared_task() {
  Task task{.devices = 16, .memory_bytes = bytes_from_gib(40.0)};
  for (int i = 0; i < kTables; ++i) {
    Table table{.name = {}, .rows = 2'000'000, .dim = 128, .pooling_factor = 5.0};
    if (i == 0) table.pooling_factor = table.features = 20.0;
    table.access_histogram = zipf_histogram(table.rows, table.pooling_factor);
    task.tables.push_back(table);
  }
  return task;
}

TEST(SharedTables, APlanThatKnowsOfFeaturesSharesTheirOutputsOut) {
  const Task task = shared_task();
  Task as_one = task;
  as_one.tables.front().features = 1.0;
  EXPECT_NE(fingerprint(task, {}, builtin_weights()), fingerprint(as_one, {}, builtin_weights()));
  const Planner planner(builtin_weights(), {.threads = 1});
  const PlanResult knows = planner.plan(task);
  const PlanResult does_not = planner.plan(as_one);
  ASSERT_TRUE(knows.plan && does_not.plan);
  const auto backend = make_cpu_backend(builtin_weights());
  EXPECT_LT(knows.cost.cost_ms, 0.5 * simulate(*backend, task, *does_not.plan).cost_ms);
  std::int64_t columns = 0;
  for (const DeviceCost& device : knows.cost.devices) columns += device.dim_sum;
  EXPECT_EQ(columns, (20 + kTables - 1) * 128);
}

// Models saw as many lookups and outputs, in operators of other batches.
TEST(SharedTables, PredictedCostsMeetAnalyticOnes) {
  const auto backend = make_cpu_backend(builtin_weights());
  for (const double features : {2.0, 5.0, 10.0, 20.0}) {
    for (const double lookups : {1.0, 10.0}) {
      for (const int dim : {32, 128}) {
        Task task = shared_task();
        for (Table& table : task.tables) {
          table.dim = dim;
          table.features = features;
          table.pooling_factor = features * lookups;
          table.access_histogram = zipf_histogram(table.rows, table.pooling_factor);
        }
        Plan plan;
        plan.shards.resize(16);
        for (int t = 0; t < kTables; ++t) {
          plan.slices.push_back({t, 0, dim, 0, 2'000'000});
          plan.shards[static_cast<std::size_t>(t % 16)].push_back(t);
        }
        const double predicted = simulate(*backend, task, plan).cost_ms;
        const double priced = analytic_plan_cost(gpu_named("a100-sxm-80gb"),
                                                 network_named("a100-nvlink3-hdr"), task, plan)
                                  .cost_ms;
        EXPECT_NEAR(predicted / priced, 1.0, 0.03)
            << features << " features of " << lookups << " lookups, dim " << dim;
      }
    }
  }
}

}  // namespace
}  // namespace neuroshard
