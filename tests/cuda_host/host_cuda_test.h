#pragma once

#include <gtest/gtest.h>

#include "cuda_host/host_cuda.h"

namespace neuroshard::testing {

/// Starts with one healthy device; whatever happens in the test, nothing may be left on it.
class HostCudaTest : public ::testing::Test {
 protected:
  void SetUp() override { host_cuda::reset(); }
  void TearDown() override {
    const host_cuda::Usage usage = host_cuda::usage();
    EXPECT_EQ(usage.device_allocations, 0U);
    EXPECT_EQ(usage.host_allocations, 0U);
    EXPECT_EQ(usage.streams, 0U);
    host_cuda::reset();
  }
};

}  // namespace neuroshard::testing
