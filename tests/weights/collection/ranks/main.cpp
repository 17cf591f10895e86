#include <gtest/gtest.h>

#include <chrono>
#include <iostream>
#include <string>

#include "weights/collection/ranks/group.h"

namespace neuroshard::ranks {
namespace {

MpiGroup* all = nullptr;

}  // namespace

MpiGroup& group() { return *all; }

}  // namespace neuroshard::ranks

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  neuroshard::ranks::MpiGroup group(
      {.timeout = std::chrono::seconds(60),
       .say = [](const std::string& what) { std::cerr << what << std::endl; }});
  neuroshard::ranks::all = &group;
  return RUN_ALL_TESTS();
}
