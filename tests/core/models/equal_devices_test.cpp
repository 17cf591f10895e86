#include "core/models/equal_devices.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

namespace neuroshard {
namespace {

constexpr int kDevices = 1000;

TEST(EqualDevices, AreOfKindsByBothInputs) {
  EqualDevices equal(kDevices);
  std::vector<float> dim_sums;
  std::vector<float> offsets_ms;
  for (int d = 0; d < kDevices; ++d) {
    dim_sums.push_back(static_cast<float>(d % 3));
    offsets_ms.push_back(static_cast<float>(d % 5));
  }
  std::vector<float> of_devices(kDevices);
  for (const bool with_offsets : {true, false, true}) {
    ASSERT_TRUE(equal.find(dim_sums.data(), with_offsets ? offsets_ms.data() : nullptr));
    ASSERT_EQ(equal.kinds(), with_offsets ? 15 : 3);
    for (int kind = 0; kind < equal.kinds(); ++kind) {
      equal.cost_ms()[kind] = 10.0F * equal.dim_sums()[kind] + equal.start_offsets_ms()[kind];
    }
    equal.hand_out(of_devices.data());
    for (int d = 0; d < kDevices; ++d) {
      ASSERT_EQ(of_devices[static_cast<std::size_t>(d)],
                static_cast<float>(10 * (d % 3) + (with_offsets ? d % 5 : 0)));
    }
  }
}

TEST(EqualDevices, AreNotLookedForAmongFewOrWhereMostDiffer) {
  const std::vector<float> equal(kDevices, 8.0F);
  EXPECT_FALSE(EqualDevices(8).find(equal.data(), nullptr));
  EXPECT_EQ(EqualDevices(8).held_bytes(), 0U);
  EqualDevices many(kDevices);
  EXPECT_TRUE(many.find(equal.data(), nullptr));
  EXPECT_GT(many.held_bytes(), 0U);
  std::vector<float> unequal;
  for (int d = 0; d < kDevices; ++d) unequal.push_back(static_cast<float>(d));
  EXPECT_FALSE(many.find(unequal.data(), nullptr));
  EXPECT_TRUE(many.find(equal.data(), nullptr));
  EXPECT_EQ(many.kinds(), 1);
}

}  // namespace
}  // namespace neuroshard
