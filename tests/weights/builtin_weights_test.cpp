#include <gtest/gtest.h>

#include "neuroshard/weights.h"

namespace neuroshard {
namespace {

TEST(BuiltinWeights, ServeTheUsualDeviceCounts) {
  for (const int devices : {2, 4, 8, 16}) EXPECT_TRUE(builtin_weights().has_comm_for(devices));
}

TEST(BuiltinWeights, SayWhatTheyWereTrainedOn) {
  const auto& metadata = builtin_weights().metadata;
  for (const char* key : {"source", "hardware", "batch_size", "training"}) {
    ASSERT_TRUE(metadata.contains(key)) << key;
    EXPECT_FALSE(metadata.at(key).empty()) << key;
  }
}

TEST(BuiltinWeights, SurviveAFile) {
  const std::string bytes = serialize_weights(builtin_weights());
  EXPECT_EQ(serialize_weights(parse_weights(bytes, "copy")), bytes);
}

}  // namespace
}  // namespace neuroshard
