#pragma once

#include "neuroshard/cuda_backend.h"

namespace neuroshard::gpu {

/// The kernels use instructions (warp-wide minimum) that older devices lack.
inline constexpr int kLeastComputeCapability = 80;

}  // namespace neuroshard::gpu
