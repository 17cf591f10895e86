#include "neuroshard/pooling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "message_of.h"
#include "neuroshard/plan.h"
#include "neuroshard/prediction_limits.h"
#include "neuroshard/task.h"
#include "plain_table.h"

namespace neuroshard {
namespace {

using ::testing::HasSubstr;
using testing::message_of;
using testing::plain_table;

Table table_of(Pooling pooling, double pooling_factor, double features) {
  Table table = plain_table(1000, 16, pooling_factor);
  table.pooling = pooling;
  table.features = features;
  return table;
}

TEST(Pooling, HasNames) {
  EXPECT_THAT(all_poolings(),
              ::testing::ElementsAre(Pooling::kSum, Pooling::kMean, Pooling::kNone));
  for (const Pooling pooling : all_poolings()) {
    EXPECT_EQ(pooling_from_name(name_of(pooling)), pooling);
  }
  EXPECT_EQ(message_of([] { (void)pooling_from_name("non"); }),
            "there is no pooling 'non'; did you mean 'none'? use one of sum, mean, none");
}

TEST(Pooling, ASampleHasAnOutputOfEachFeatureOrOfEachLookup) {
  for (const Pooling pooling : {Pooling::kSum, Pooling::kMean}) {
    EXPECT_EQ(outputs_per_sample(table_of(pooling, 7.5, 3.0)), 3.0);
    EXPECT_EQ(output_columns(table_of(pooling, 7.5, 3.0), 8), 24);
  }
  EXPECT_EQ(outputs_per_sample(table_of(Pooling::kNone, 7.5, 3.0)), 7.5);
  EXPECT_EQ(output_columns(table_of(Pooling::kNone, 7.5, 3.0), 8), 60);
  EXPECT_EQ(output_columns(table_of(Pooling::kNone, 0.0, 1.0), 8), 1);
}

TEST(Pooling, DecidesMemoryOfOutputs) {
  const auto buffer_bytes = [](const Table& table) {
    Table of_batch = table;
    of_batch.memory.batch_size = 100;
    return slice_memory(of_batch, 8).buffer_bytes;
  };
  EXPECT_EQ(buffer_bytes(table_of(Pooling::kMean, 7.5, 3.0)), 750 * 8 + 300 * 8 * 4);
  EXPECT_EQ(buffer_bytes(table_of(Pooling::kNone, 7.5, 3.0)), 750 * 8 + 750 * 8 * 4);
  EXPECT_EQ(buffer_bytes(table_of(Pooling::kNone, 0.255, 3.0)), 204 + 26 * 8 * 4);
  Table weighted = table_of(Pooling::kSum, 7.5, 1.0);
  weighted.weighted = true;
  EXPECT_EQ(buffer_bytes(weighted), 750 * (8 + 4) + 100 * 8 * 4);
}

TEST(Pooling, ABlockOfRowsHasItsLookupsOfWhatIsNotPooledAndAPartOfEachSum) {
  Task task{.devices = 2, .memory_bytes = 1 << 30};
  for (const Pooling pooling : all_poolings()) task.tables.push_back(table_of(pooling, 8.0, 2.0));
  task.tables[1].row_shares = task.tables[2].row_shares = {0.75, 0.25};
  const auto block = [&](int table) { return table_of(task, {table, 0, 16, 0, 500}); };
  EXPECT_EQ(outputs_per_sample(block(0)), 2.0);
  // A mean is summed, too: it is divided where blocks have been added up.
  EXPECT_EQ(block(1).pooling, Pooling::kSum);
  EXPECT_EQ(table_of(task, {1, 0, 4, 0, 1000}).pooling, Pooling::kMean);
  EXPECT_EQ(outputs_per_sample(block(1)), 2.0);
  EXPECT_EQ(block(2).pooling, Pooling::kNone);
  EXPECT_EQ(outputs_per_sample(block(2)), 6.0);
  EXPECT_EQ(output_columns(block(2), 16), 6 * 16);
  task.tables[0].weighted = true;
  EXPECT_TRUE(block(0).weighted);
}

TEST(Pooling, ErrorsNameFieldAndRemedy) {
  const auto error_of = [](const Table& table) {
    return message_of([&] { validate(table, "t"); });
  };
  for (const Pooling pooling : all_poolings()) validate(table_of(pooling, 5.0, 1.0), "t");
  EXPECT_EQ(error_of(table_of(static_cast<Pooling>(7), 5.0, 1.0)),
            "t: pooling is none of the enumerators; give one");
  Table weighted = table_of(Pooling::kNone, 5.0, 1.0);
  weighted.weighted = true;
  EXPECT_THAT(error_of(weighted), HasSubstr("t: weighted is true, but nothing is pooled"));
  Table long_one = table_of(Pooling::kNone, 0x1p24, 1.0);
  validate(long_one, "t");
  long_one.pooling_factor += 1.0;
  EXPECT_EQ(
      error_of(long_one),
      "t: pooling_factor 16777217 times dim 16 is more than 2^28 columns of outputs a sample; "
      "give fewer, or a pooling");
}

TEST(Pooling, OutputsOfTheLargestBatchAreTooManyButCounted) {
  Task task{
      .tables = {table_of(Pooling::kNone, 0x1p24, 1.0)}, .devices = 2, .memory_bytes = 1 << 30};
  task.tables[0].memory.batch_size = kMaxBatchSize;
  EXPECT_THAT(message_of([&] { validate(task); }), HasSubstr("exceed 2^60 bytes; check row"));
}

TEST(Pooling, ModelsOfThePublishedFeaturesDoNotFollowIt) {
  Task task{.tables = {table_of(Pooling::kSum, 5.0, 1.0), table_of(Pooling::kSum, 5.0, 1.0)},
            .devices = 2,
            .memory_bytes = 1 << 30};
  EXPECT_EQ(prediction_limits(task, false), "");
  const std::string limit =
      ": memory and exchanges count that, predicted costs of operators are those of sums";
  task.tables[0].pooling = Pooling::kNone;
  EXPECT_EQ(prediction_limits(task, false), "table 0 is not pooled" + limit);
  task.tables[0].pooling = Pooling::kMean;
  task.tables[1].weighted = true;
  EXPECT_EQ(prediction_limits(task, false),
            "table 0 is pooled by mean, and 1 other table not plainly summed" + limit);
  task.tables[0].pooling = Pooling::kSum;
  EXPECT_EQ(prediction_limits(task, false), "table 1 is weighted" + limit);
  EXPECT_EQ(prediction_limits(task, true), "");
}

}  // namespace
}  // namespace neuroshard
