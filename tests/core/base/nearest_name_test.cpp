#include "core/base/nearest_name.h"

#include <gtest/gtest.h>

#include <vector>

namespace neuroshard {
namespace {

TEST(NearestName, FindsWhatWasMeant) {
  const std::vector<std::string> names = {"plan", "profile", "simulate", "--task", "--tasks"};
  EXPECT_EQ(nearest_name("pln", names), "plan");
  EXPECT_EQ(nearest_name("palnn", names), "");  // Two of five letters.
  EXPECT_EQ(nearest_name("paln", names), "plan");
  EXPECT_EQ(nearest_name("simulte", names), "simulate");
  EXPECT_EQ(nearest_name("--taks", names), "--task");
  EXPECT_EQ(nearest_name("--taskss", names), "--tasks");
  EXPECT_EQ(nearest_name("frobnicate", names), "");
  EXPECT_EQ(nearest_name("", names), "");
  EXPECT_EQ(nearest_name(std::string(100000, 'p'), names), "");
  EXPECT_EQ(nearest_name("plan", {}), "");
}

}  // namespace
}  // namespace neuroshard
