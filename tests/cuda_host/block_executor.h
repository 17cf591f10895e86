#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "cuda_host/host_cuda.h"

struct dim3;

namespace host_cuda {

struct Index3 {
  unsigned x = 0;
  unsigned y = 0;
  unsigned z = 0;
};

/// What the running CUDA thread sees of itself. Valid inside a kernel only.
struct ThreadView {
  Index3 thread;
  Index3 block;
  Index3 block_size;
  Index3 grid_size;
  unsigned lane = 0;
  std::byte* shared = nullptr;
};
[[nodiscard]] const ThreadView& this_thread();

/// What the lanes of a warp do together.
enum class WarpOp { kSync, kShuffle, kBallot, kReduceMin, kReduceMax, kReduceAdd };

/// Waits for all lanes of `mask` to arrive with the same operation and mask. `source`: the lane to
/// read from, for kShuffle.
std::uint64_t warp_collective(WarpOp op, unsigned mask, std::uint64_t value, unsigned source = 0);
/// __syncthreads.
void block_barrier();
/// Stops the kernel with a KernelFault.
[[noreturn]] void kernel_fault(const char* what);

struct Grid {
  Index3 grid;
  Index3 block;
  std::size_t shared_bytes = 0;
};

/// Runs a kernel to its end; throws KernelFault.
void execute(const Grid& grid, const std::function<void()>& kernel, Schedule schedule,
             std::uint64_t seed);

}  // namespace host_cuda
