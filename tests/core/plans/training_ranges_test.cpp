#include "neuroshard/training_ranges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "message_of.h"
#include "neuroshard/error.h"

namespace neuroshard {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::message_of;

CostModels models_with(const std::map<std::string, std::string>& metadata) {
  CostModels models;
  models.metadata = metadata;
  return models;
}

Task two_plain_tables() {
  return {.tables = {{"a", 1000, 64, 2.0, {}}, {"b", 5000, 32, 20.0, {}}},
          .devices = 2,
          .memory_bytes = 1 << 30};
}

const Plan kOneEach{whole_tables(two_plain_tables()), {{0}, {1}}};

PlanCost cost_of_one_each() {
  PlanCost cost;
  cost.devices = {
      {.compute_ms = 1.0, .forward_ms = 1.0, .backward_ms = 1.0, .dim_sum = 64, .slices = 1},
      {.compute_ms = 4.5, .forward_ms = 1.0, .backward_ms = 1.0, .dim_sum = 32, .slices = 1}};
  return cost;
}

std::string warning_with(const std::map<std::string, std::string>& metadata) {
  return TrainingRanges(models_with(metadata))
      .warning(two_plain_tables(), kOneEach, cost_of_one_each());
}

TEST(TrainingRanges, SayNothingWhereNothingIsKnownOrOutside) {
  EXPECT_THAT(warning_with({}), IsEmpty());
  EXPECT_THAT(warning_with({{"compute.range.row", "1000 to 5000"},
                            {"compute.range.dim", "4 to 64"},
                            {"compute.range.pooling_factor", "0.5 to 20"},
                            {"compute.range.slices", "1 to 1"},
                            {"comm.symmetric.range.devices", "2 to 8"},
                            {"comm.symmetric.range.dim_sum", "32 to 64"},
                            {"comm.symmetric.range.start_offset_ms", "0 to 3.5"}}),
              IsEmpty());
}

TEST(TrainingRanges, NameEachQuantityThatIsOutside) {
  const auto says = [](const char* key, const char* range, const char* text) {
    EXPECT_EQ(warning_with({{key, range}}), "the cost models were trained on " + std::string(text) +
                                                ": predictions are doubtful");
  };
  says("compute.range.row", "2000 to 9000", "rows from 2,000 to 9,000, but table 0 has 1,000");
  says("compute.range.pooling_factor", "0.125 to 1.5",
       "pooling factors from 0.125 to 1.500, but table 0 has 2 (and 1 other)");
  says("compute.range.dim", "4 to 32",
       "slices with columns from 4 to 32, but one of table 0 has 64");
  says("compute.range.slices", "2 to 60",
       "devices with slices from 2 to 60, but device 0 has 1 (and 1 other)");
  says("comm.symmetric.range.dim_sum", "40 to 1e3",
       "devices with columns from 40 to 1,000, but device 1 has 32");
  says("comm.symmetric.range.devices", "4 to 128", "4 to 128 devices, but the task has 2");
}

// Whatever is later is waited for as long, which nobody needs to be warned of.
TEST(TrainingRanges, KnowTheLatestStart) {
  EXPECT_THAT(warning_with({{"comm.symmetric.range.start_offset_ms", "0 to 3"}}), IsEmpty());
  CostModels models = models_with({{"comm.symmetric.range.start_offset_ms", "0 to 3"}});
  EXPECT_EQ(TrainingRanges(models).most_start_offset_ms(kAnyOtherDevices), 3.0);
  models.forward_scale = 2.0;
  EXPECT_EQ(TrainingRanges(models).most_start_offset_ms(8), 6.0);
  EXPECT_EQ(TrainingRanges(models_with({})).most_start_offset_ms(8),
            std::numeric_limits<double>::infinity());
}

TEST(TrainingRanges, PutAllIntoOneLine) {
  EXPECT_THAT(warning_with({{"compute.range.row", "1 to 10"}, {"compute.range.dim", "4 to 8"}}),
              HasSubstr("table 0 has 1,000 (and 1 other); slices with columns"));
}

TEST(TrainingRanges, AreThoseOfTheModelForTheDeviceCount) {
  CostModels models = models_with(
      {{"comm.2.range.dim_sum", "1 to 1000"}, {"comm.symmetric.range.dim_sum", "500 to 1000"}});
  const auto warning = [&] {
    return TrainingRanges(models).warning(two_plain_tables(), kOneEach, cost_of_one_each());
  };
  EXPECT_THAT(warning(), HasSubstr("device 0 has 64"));
  models.dense_comm[2] = {};
  EXPECT_THAT(warning(), IsEmpty());
}

TEST(TrainingRanges, DevicesWithoutSlicesAreNoComputeSamples) {
  PlanCost cost = cost_of_one_each();
  cost.devices[1].slices = 0;
  const TrainingRanges ranges(models_with({{"compute.range.slices", "1 to 60"}}));
  EXPECT_THAT(ranges.warning(two_plain_tables(), kOneEach, cost), IsEmpty());
}

/// Warning of a plan that replicates both tables, or the second one.
std::string warning_of_replicas(const std::map<std::string, std::string>& metadata,
                                std::vector<int> replicas) {
  Plan plan = kOneEach;
  PlanCost cost = cost_of_one_each();
  if (replicas.size() == 2) {
    plan.slices.clear();
    plan.shards.assign(2, {});
    for (DeviceCost& device : cost.devices) device.slices = 0;
  } else {
    plan.slices.pop_back();
    plan.shards[1].clear();
    cost.devices[1].slices = 0;
  }
  plan.replicas = std::move(replicas);
  return TrainingRanges(models_with(metadata)).warning(two_plain_tables(), plan, cost);
}

TEST(TrainingRanges, AreThoseOfReplicasToo) {
  const auto says = [](const char* key, const char* range, const char* text) {
    EXPECT_THAT(warning_of_replicas({{key, range}}, {0, 1}), HasSubstr(text)) << key;
  };
  says("compute.range.dim", "4 to 32",
       "slices with columns from 4 to 32, but the replica of table 0 has 64:");
  says("compute.range.row", "1 to 4000", "rows from 1 to 4,000, but table 1 has 5,000:");
  says("compute.range.slices", "3 to 60", "but each device's operator of replicas has 2:");
  says("compute.range.samples", "1 to 32767",
       "operators of samples from 1 to 32,767, but that of replicas has 32,768:");
  // 4 bytes for each of 1,000 * 64 and 5,000 * 32 numbers.
  says("all_reduce.range.bytes", "1 to 895999",
       "all-reduces of bytes from 1 to 895,999, but that of replicas has 896,000:");
  says("all_reduce.range.devices", "4 to 128",
       "all-reduces on 4 to 128 devices, but the task has 2:");
}

TEST(TrainingRanges, OfAllReducesAreExceededByLargeGradientsAlone) {
  EXPECT_THAT(warning_of_replicas({{"all_reduce.range.bytes", "896001 to 1e9"},
                                   {"all_reduce.range.devices", "1 to 2"},
                                   {"compute.range.dim", "4 to 64"},
                                   {"compute.range.samples", "1 to 65536"}},
                                  {0, 1}),
              IsEmpty());
}

TEST(TrainingRanges, OfAllToAllsSayNothingWhereThereIsNone) {
  const std::map<std::string, std::string> metadata = {
      {"comm.symmetric.range.devices", "4 to 8"}, {"comm.symmetric.range.dim_sum", "1e5 to 1e6"}};
  EXPECT_THAT(warning_of_replicas(metadata, {0, 1}), IsEmpty());
  EXPECT_THAT(warning_of_replicas(metadata, {1}), HasSubstr("columns"));
  EXPECT_THAT(warning_of_replicas({{"all_reduce.range.devices", "4 to 8"}}, {1}),
              HasSubstr("all-reduces on"));
  EXPECT_THAT(warning_with({{"all_reduce.range.devices", "4 to 8"}}), IsEmpty());
}

TEST(TrainingRanges, OfSamplesAreThoseOfTheBatch) {
  EXPECT_THAT(warning_with({{"compute.range.samples", "1 to 65535"}}),
              HasSubstr("operators of samples from 1 to 65,535, but that of slices has 65,536:"));
}

TEST(TrainingRanges, RejectsWhatIsNoRange) {
  for (const char* text :
       {"", "5", "1 to", "1 to x", "x to 1", "2 to 1", "0 to inf", "nan to 1", "1 to 2 "}) {
    EXPECT_EQ(message_of(
                  [&] {
                    (void)TrainingRanges(models_with({{"compute.range.row", text}}));
                  },
                  ErrorKind::kInvalidInput),
              "cost models: the metadata's 'compute.range.row' is '" + std::string(text) +
                  "'; expected two numbers, 'LOW to HIGH'");
  }
}

TEST(TrainingRanges, TextIsReadBack) {
  TrainingRange range{0.1, 0.1};
  range.extend(5e8);
  range.extend(0.05);
  EXPECT_EQ(range.text(), "0.05 to 5e+08");
  EXPECT_THAT(warning_with({{TrainingRanges::key("compute", "row"), range.text()}}), IsEmpty());
}

}  // namespace
}  // namespace neuroshard
