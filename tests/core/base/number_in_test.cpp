#include "core/base/number_in.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace neuroshard {
namespace {

TEST(NumberIn, IsAllOfTheText) {
  EXPECT_EQ(number_in<int>("-12"), -12);
  EXPECT_EQ(number_in<double>("2.5e-3"), 0.0025);
  for (const char* text : {"", " 1", "1 ", "1x", "x", "1,2", "+1"}) {
    EXPECT_FALSE(number_in<std::int64_t>(text)) << text;
    EXPECT_FALSE(number_in<double>(text)) << text;
  }
  EXPECT_FALSE(number_in<int>("2.5"));
  EXPECT_FALSE(number_in<int>("99999999999"));
}

}  // namespace
}  // namespace neuroshard
