#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "cuda_host/host_cuda.h"

struct dim3;

namespace host_cuda {

struct Index3 {
  unsigned x = 0;
  unsigned y = 0;
  unsigned z = 0;
};

/// Values that the running CUDA thread sees of itself.
struct ThreadView {
  Index3 thread;
  Index3 block;
  Index3 block_size;
  Index3 grid_size;
  unsigned lane = 0;
  std::byte* shared = nullptr;
  unsigned number = 0;  ///< In its block.
  unsigned place = 0;   ///< Place of its block among those that run now.
  const std::byte* stack_begin = nullptr;
  const std::byte* stack_end = nullptr;
};
[[nodiscard]] const ThreadView& this_thread();
/// True while this thread of the operating system executes a kernel.
[[nodiscard]] bool in_kernel();

/// While one lives, the running CUDA thread is in an atomic operation.
class AtomicOperation {
 public:
  AtomicOperation();
  ~AtomicOperation();
  AtomicOperation(const AtomicOperation&) = delete;
  AtomicOperation& operator=(const AtomicOperation&) = delete;
};
[[nodiscard]] bool in_atomic();

/// Is told what orders the accesses of threads.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void launch_starts() = 0;
  /// `place`: ThreadView::place of its threads. The block that was there has ended.
  virtual void block_starts(unsigned place, const std::byte* shared, std::size_t shared_bytes,
                            unsigned threads) = 0;
  /// By a __syncwarp of all lanes of the warp of `thread`.
  virtual void warp_synchronised(unsigned place, unsigned thread) = 0;
  virtual void block_synchronised(unsigned place) = 0;
  virtual void thread_fence(const ThreadView& thread) = 0;
};
/// Observes kernels that this thread of the operating system executes. Null: none.
void set_observer(Observer* observer);

/// Operations that the lanes of a warp do together.
enum class WarpOp { kSync, kShuffle, kBallot, kReduceMin, kReduceMax, kReduceAdd };

/// Waits for all lanes of `mask` to arrive with the same operation and mask. `source`: the lane to
/// read from, for kShuffle.
std::uint64_t warp_collective(WarpOp op, unsigned mask, std::uint64_t value, unsigned source = 0);
/// __syncthreads.
void block_barrier();

/// A copy to shared memory that the running CUDA thread has started (cuda_pipeline_primitives.h).
struct AsyncCopy {
  void* to = nullptr;
  const void* from = nullptr;
  std::size_t bytes = 0;
};
void start_copy(const AsyncCopy& copy);
/// Makes a group of the copies started since the last one.
void commit_copies();
/// The oldest copy of all groups but the last `prior`; it is then no longer among them.
[[nodiscard]] std::optional<AsyncCopy> next_landing_copy(std::size_t prior);

/// __threadfence.
void thread_fence();
/// Puts the running thread behind all others that can run: it waits for something they do.
void let_others_run();
/// Stops the kernel with a KernelFault.
[[noreturn]] void kernel_fault(const char* what);

struct Grid {
  Index3 grid;
  Index3 block;
  std::size_t shared_bytes = 0;
};

struct Order {
  Schedule schedule = Schedule::kForward;
  std::uint64_t seed = 1;
  std::size_t resident_blocks = 1;
};

/// Runs a kernel to its end; throws KernelFault.
void execute(const Grid& grid, const std::function<void()>& kernel, const Order& order);

}  // namespace host_cuda
