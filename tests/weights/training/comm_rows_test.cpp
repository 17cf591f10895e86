#include "weights/training/comm_rows.h"

#include <gtest/gtest.h>

#include <set>

namespace neuroshard::training {
namespace {

// Costs tell which device of which sample they are of.
CommSamples numbered_samples(int devices, int samples) {
  CommSamples set;
  set.devices = devices;
  for (int s = 0; s < samples; ++s) {
    for (int d = 0; d < devices; ++d) {
      set.dim_sums.push_back(4 * (d + 1));
      set.start_offsets_ms.push_back(static_cast<float>(d));
      set.forward_ms.push_back(static_cast<float>(1000 * s + d));
      set.backward_ms.push_back(static_cast<float>(-1000 * s - d));
    }
  }
  return set;
}

TEST(CommRows, TakeAtMostSixteenDevicesOfASample) {
  const std::vector<CommSamples> sets{numbered_samples(3, 2), numbered_samples(100, 50)};
  const CommRows rows(sets, CommArchitecture::kSymmetric, CommPass::kForward);
  ASSERT_EQ(rows.samples(), 52U);
  EXPECT_EQ(rows.rows(0), 3U);
  EXPECT_EQ(std::vector<float>(rows.targets(1).begin(), rows.targets(1).end()),
            (std::vector<float>{1000.0F, 1001.0F, 1002.0F}));
  std::set<float> all_taken;
  for (std::uint32_t sample = 2; sample < 52; ++sample) {
    ASSERT_EQ(rows.rows(sample), 16U);
    const auto targets = rows.targets(sample);
    ASSERT_EQ(targets.size(), 16U);
    std::vector<float> inputs(16 * 8);
    rows.inputs_of(sample, 8, inputs.data());
    std::set<float> taken;
    for (std::size_t row = 0; row < 16; ++row) {
      const float device = targets[row] - 1000.0F * static_cast<float>(sample - 2);
      taken.insert(device);
      const float* input = &inputs[row * 8];
      EXPECT_EQ(input[0], 4.0F * (device + 1.0F));
      EXPECT_EQ(input[1], device);
      EXPECT_EQ(input[2], 202.0F);  // Mean, maximum and minimum are of all 100 devices.
      EXPECT_EQ(input[3], 400.0F);
      EXPECT_EQ(input[4], 4.0F);
    }
    EXPECT_EQ(taken.size(), 16U);
    all_taken.insert(taken.begin(), taken.end());
  }
  EXPECT_GT(all_taken.size(), 90U);
}

TEST(CommRows, OfDenseNetworksHaveAllDevices) {
  const std::vector<CommSamples> sets{numbered_samples(40, 3)};
  const CommRows rows(sets, CommArchitecture::kDense, CommPass::kBackward);
  EXPECT_EQ(rows.rows(2), 1U);
  ASSERT_EQ(rows.targets(2).size(), 40U);
  EXPECT_EQ(rows.targets(2)[39], -2039.0F);
}

}  // namespace
}  // namespace neuroshard::training
