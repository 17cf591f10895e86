#pragma once

#include <cuda_runtime.h>

#include "cuda/evaluate_layout.h"

namespace neuroshard::gpu {

/// A block has at most this many warps, each of which may use 128 registers.
inline constexpr int kMaxEvaluateWarps = 16;

/// True if `head` is the one that fits in the registers of a warp: 32 -> 64 -> 1.
[[nodiscard]] bool fits_registers(const MlpView& head, int width);

/// Shared memory of a block.
[[nodiscard]] std::size_t evaluate_shared_bytes(const EvaluateShape& shape);

/// Evaluates all candidates in one launch of `blocks` blocks.
void evaluate_candidates(const EvaluateArgs& args, unsigned blocks, cudaStream_t stream);

/// Once per device, before the first launch.
void prepare_evaluate_candidates(std::size_t max_shared_bytes);

}  // namespace neuroshard::gpu
