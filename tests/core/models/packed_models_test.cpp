#include "core/models/packed_models.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "golden.h"
#include "message_of.h"

namespace neuroshard {
namespace {

using neuroshard::testing::golden_models;
using neuroshard::testing::message_of;

TEST(PackedModels, SayWhichDeviceCountsThereAre) {
  const PackedModels packed(golden_models());
  const std::string message = message_of([&] { (void)packed.comm_for(3); });
  EXPECT_EQ(message, "no communication model for 3 devices; the weights have one for 2, 4, 8, 16");
  EXPECT_EQ(message_of([&] { (void)golden_models().comm_for(3); }), message);
}

}  // namespace
}  // namespace neuroshard
