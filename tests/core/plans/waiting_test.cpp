#include "neuroshard/waiting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace neuroshard {
namespace {

using ::testing::ElementsAre;

TEST(Waiting, DevicesThatWaitDoNotDecide) {
  // Device 0 waits 5 ms for device 1, and is the dearest by little.
  PlanCost cost;
  cost.devices = {{.compute_ms = 1.0, .forward_ms = 6.1, .slices = 2},
                  {.compute_ms = 6.0, .forward_ms = 1.0, .base_ms = 6.0},
                  {.compute_ms = 2.0, .forward_ms = 4.5, .slices = 1}};
  EXPECT_THAT(waits_ms(cost), ElementsAre(5.0, 0.0, 4.0));
  EXPECT_EQ(deciding_device(cost), 1);
  // No longer than its all-to-all takes, and not where it has more to do for all that.
  cost.devices[0].forward_ms = 3.0;
  EXPECT_EQ(waits_ms(cost)[0], 3.0);
  cost.devices[0].forward_ms = 13.0;
  EXPECT_EQ(deciding_device(cost), 0);
}

TEST(Waiting, NobodyWaitsForReplicas) {
  PlanCost cost;
  cost.devices = {{.compute_ms = 1.0, .forward_ms = 1.0, .replicas_ms = 0.25},
                  {.compute_ms = 2.0, .forward_ms = 1.0, .replicas_ms = 1.25}};
  EXPECT_THAT(waits_ms(cost), ElementsAre(0.0, 0.0));
  EXPECT_EQ(deciding_device(cost), 1);
}

// Devices 2 and 3 have next to nothing to do; they take as long as device 0 because they wait for
// it.
TEST(Waiting, IsNoWork) {
  PlanCost cost;
  cost.devices = {{.compute_ms = 3.0, .forward_ms = 0.5, .backward_ms = 0.5},
                  {.compute_ms = 1.0, .forward_ms = 2.5, .backward_ms = 0.5},
                  {.compute_ms = 0.0, .forward_ms = 3.5, .backward_ms = 0.5},
                  {.compute_ms = 0.0, .forward_ms = 3.5, .backward_ms = 0.5}};
  EXPECT_THAT(start_offsets_ms(cost), ElementsAre(3.0, 1.0, 0.0, 0.0));
  EXPECT_THAT(waits_ms(cost), ElementsAre(0.0, 2.0, 3.0, 3.0));
  EXPECT_THAT(work_ms(cost), ElementsAre(4.0, 2.0, 1.0, 1.0));
  EXPECT_EQ(imbalance(cost), 2.0);
}

TEST(Waiting, OfNobodyIsBalanced) {
  EXPECT_THAT(waits_ms({}), ElementsAre());
  PlanCost idle;
  idle.devices.resize(2);
  EXPECT_EQ(imbalance(idle), 1.0);
}

}  // namespace
}  // namespace neuroshard
