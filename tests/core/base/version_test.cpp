#include "neuroshard/version.h"

#include <gtest/gtest.h>

#include <string>

namespace neuroshard {
namespace {

TEST(Version, PartsMakeUpTheWhole) {
  EXPECT_EQ(NEUROSHARD_VERSION, std::to_string(NEUROSHARD_VERSION_MAJOR) + "." +
                                    std::to_string(NEUROSHARD_VERSION_MINOR) + "." +
                                    std::to_string(NEUROSHARD_VERSION_PATCH));
}

TEST(Version, IsThatOfTheCMakePackage) {
  EXPECT_STREQ(NEUROSHARD_VERSION, NEUROSHARD_PROJECT_VERSION);
}

}  // namespace
}  // namespace neuroshard
