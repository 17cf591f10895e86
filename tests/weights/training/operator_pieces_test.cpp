#include "weights/training/operator_pieces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "message_of.h"
#include "neuroshard/table_features.h"

namespace neuroshard::training {
namespace {

using neuroshard::testing::message_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

ComputeSamples three_samples() {
  ComputeSamples samples;
  for (const int dim : {64, 32, 16}) {
    Table table{
        .name = "", .rows = 1000, .dim = dim, .pooling_factor = 2.0, .access_histogram = {}};
    table.access_histogram[2] = 1.0;
    samples.tables.push_back(table);
  }
  samples.table_ids = {1, 0, 1, 1, 0};
  samples.offsets = {0, 2, 4, 5};
  samples.cost_ms = {1.0F, 2.0F, 3.0F};
  samples.served = {65536, 65536, 4096};
  return samples;
}

TEST(OperatorPieces, AreTablesInOperatorsOfSoManySamples) {
  const ComputeSamples samples = three_samples();
  const OperatorPieces pieces = operator_pieces(samples, kOperatorFeatures);
  EXPECT_THAT(pieces.ids, ElementsAre(0, 1, 0, 0, 2));
  ASSERT_EQ(pieces.size(), 3U);
  std::vector<float> expected;
  OperatorFeatures(kOperatorFeatures, 4096.0).append(samples.tables[0], 64, expected);
  const auto last = pieces.features_of(2);
  EXPECT_EQ(std::vector<float>(last.begin(), last.end()), expected);
}

TEST(OperatorPieces, OfPublishedFeaturesAreTheTables) {
  ComputeSamples samples = three_samples();
  EXPECT_THAT(message_of([&] { (void)operator_pieces(samples, kTableFeatures); }),
              HasSubstr("compute sample 2 is of 4096 samples"));
  samples.served.back() = 65536;
  const OperatorPieces pieces = operator_pieces(samples, kTableFeatures);
  EXPECT_EQ(pieces.ids, samples.table_ids);
  EXPECT_EQ(pieces.size(), 3U);
}

}  // namespace
}  // namespace neuroshard::training
