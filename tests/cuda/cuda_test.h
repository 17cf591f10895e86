#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>

#include "neuroshard/cuda_backend.h"

namespace neuroshard::testing {

/// Tests of the CUDA backend. Their sources make two programs: one runs the kernels on the CPU
/// (tests/cuda_host), the other on a GPU. Without a GPU the second skips, unless the environment
/// variable NEUROSHARD_REQUIRE_GPU is set: then it fails.
class CudaTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto devices = cuda_devices();
    if (!devices.empty() && devices.front().usable) return;
    if (std::getenv("NEUROSHARD_REQUIRE_GPU") != nullptr) {
      FAIL() << "NEUROSHARD_REQUIRE_GPU is set, but there is no usable CUDA device";
    }
    GTEST_SKIP() << "no usable CUDA device";
  }
};

/// Kernels on the CPU are slow: fewer repetitions there.
inline bool runs_on_gpu() {
  const auto devices = cuda_devices();
  return !devices.empty() && devices.front().name != "host-executed CUDA";
}

/// Launches of kernels so far; nothing on a GPU, where nobody counts them.
[[nodiscard]] std::optional<std::uint64_t> launches_so_far();

}  // namespace neuroshard::testing
