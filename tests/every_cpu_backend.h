#pragma once

#include <gtest/gtest.h>

#include <algorithm>

#include "neuroshard/backend.h"

namespace neuroshard::testing {

/// A test of each CPU backend that is compiled in, by its name; skipped where the CPU lacks what it
/// needs. INSTANTIATE_TEST_SUITE_P it with ValuesIn(cpu_backends()).
class EveryCpuBackend : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const std::vector<std::string> available = available_cpu_backends();
    if (std::find(available.begin(), available.end(), GetParam()) == available.end()) {
      GTEST_SKIP() << "this CPU cannot run it";
    }
  }
};

}  // namespace neuroshard::testing
