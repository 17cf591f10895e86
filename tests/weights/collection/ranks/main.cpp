#include <gtest/gtest.h>

#include "weights/collection/ranks/group.h"

namespace neuroshard::ranks {
namespace {

MpiGroup* all = nullptr;

}  // namespace

MpiGroup& group() { return *all; }

}  // namespace neuroshard::ranks

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  neuroshard::ranks::MpiGroup group;
  neuroshard::ranks::all = &group;
  return RUN_ALL_TESTS();
}
