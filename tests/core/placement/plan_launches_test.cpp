// Launches of a single plan.
#include "core/placement/plan_launches.h"

#include <gtest/gtest.h>

namespace neuroshard {
namespace {

TEST(PlanLaunches, AreNoMoreThanSaid) {
  PlanLaunches launches(2);
  EXPECT_FALSE(launches.take(3));
  EXPECT_TRUE(launches.take(1));
  EXPECT_FALSE(launches.take(2));
  EXPECT_TRUE(launches.any());
  EXPECT_TRUE(launches.take(1));
  EXPECT_FALSE(launches.any());
  EXPECT_FALSE(launches.take(1));
  EXPECT_TRUE(PlanLaunches(2).take(2));
  EXPECT_FALSE(PlanLaunches(0).any());
}

}  // namespace
}  // namespace neuroshard
