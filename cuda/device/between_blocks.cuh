#pragma once

#include <cuda_runtime.h>

namespace neuroshard::gpu {

/// How blocks of one launch wait for each other: one adds to a counter in device memory once it has
/// written something, others look at the counter before they read it. Each by one thread; the other
/// threads of its block are ordered by a __syncthreads before and after. A block may wait only for
/// what a block does that is running: which ones those are, nobody promises.

/// Adds, so that who sees the sum also sees what this thread, and its block before the last
/// barrier, has written. Returns the sum before.
template <typename Counter>
__device__ inline Counter publish_add(Counter* counter, Counter more) {
  __threadfence();
  return atomicAdd(counter, more);
}

/// Orders what this thread has just seen of a counter before what its block reads next.
__device__ inline void acquire() { __threadfence(); }

/// Waits until the lower half of the counter is above `least`; returns all of it.
__device__ inline unsigned long long wait_above(unsigned long long* counter, unsigned least) {
  unsigned long long seen = 0;
  while (static_cast<unsigned>(seen = atomicAdd(counter, 0ULL)) <= least) __nanosleep(40);
  acquire();
  return seen;
}

/// Number of the multiprocessor, for what may be wrong: a block that is interrupted may go on
/// elsewhere.
#ifdef __CUDACC__
__device__ inline unsigned multiprocessor_index() {
  unsigned index = 0;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(index));
  return index;
}
#else
inline unsigned multiprocessor_index() { return host_cuda::this_thread().place / 2; }
#endif

}  // namespace neuroshard::gpu
