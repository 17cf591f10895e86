#pragma once

#include <cuda_runtime.h>

#include <span>
#include <vector>

#include "cuda/device/buffers.h"

namespace neuroshard::bench {

/// A way in which all lanes of a warp read shared memory at once.
struct SharedLoad {
  const char* name;
  int bytes;       ///< That a lane reads: 4, 8 or 16.
  bool broadcast;  ///< All lanes read the same bytes; else each the ones behind its neighbour's.
};

/// Loads of this library's kernels, and loads that they may be compared with.
[[nodiscard]] std::span<const SharedLoad> shared_loads();

/// Loads that a block's warps do in all, each by all lanes of a warp.
[[nodiscard]] double shared_loads_in_block(int rounds);

struct SharedLoadResult {
  std::vector<long long> cycles;  ///< [multiprocessors], from the first load to the last.
  std::vector<unsigned> sums;     ///< Sums of what each thread read, of the first block.
};

/// Has one block a multiprocessor do nothing but such loads, on the current device, and waits.
[[nodiscard]] SharedLoadResult run_shared_loads(const SharedLoad& load, int multiprocessors,
                                                int rounds, const gpu::Stream& stream);

/// SharedLoadResult::sums, by a CPU.
[[nodiscard]] std::vector<unsigned> expected_sums(const SharedLoad& load, int rounds);

}  // namespace neuroshard::bench
