// The race checker on kernels with and without races. This file is compiled like kernels are for
// it.
#include "cuda_host/race_checker.h"

#include <cuda_runtime.h>
#include <gmock/gmock.h>

#include "cuda/device/buffers.h"
#include "cuda/device/launch.h"
#include "cuda/device/warp.cuh"
#include "cuda_host/host_cuda_test.h"

namespace neuroshard {
namespace {

using gpu::kAllLanes;
using gpu::lane_index;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

enum class Order { kNothing, kShuffle, kWarp, kBlock };

__device__ void order_by(Order order) {
  if (order == Order::kShuffle) (void)__shfl_sync(kAllLanes, 0, 0);
  if (order == Order::kWarp) __syncwarp();
  if (order == Order::kBlock) __syncthreads();
}

__device__ int* shared_ints() { return reinterpret_cast<int*>(gpu::dynamic_shared_memory()); }
__device__ int thread_index() { return static_cast<int>(threadIdx.x); }

// Each thread reads what another wrote, `distance` threads further on.
__global__ void read_neighbour_kernel(Order order, int distance, int* out) {
  const int threads = static_cast<int>(blockDim.x);
  shared_ints()[thread_index()] = thread_index();
  order_by(order);
  out[blockIdx.x * blockDim.x + threadIdx.x] = shared_ints()[(thread_index() + distance) % threads];
}

// All read what lane 0 then overwrites.
__global__ void overwrite_kernel(Order order, int* out) {
  if (thread_index() == 0) shared_ints()[0] = 1;
  __syncthreads();
  const int value = shared_ints()[0];
  order_by(order);
  if (thread_index() == 0) shared_ints()[0] = 2;
  out[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

__global__ void count_kernel(bool atomics, bool read_at_once, int* out) {
  if (thread_index() == 0) shared_ints()[0] = 0;
  __syncthreads();
  if (atomics) {
    atomicAdd(shared_ints(), 1);
  } else {
    ++shared_ints()[0];
  }
  if (!read_at_once) __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = shared_ints()[0];
}

// All blocks write to the same place.
__global__ void write_same_kernel(bool atomics, int* out) {
  if (thread_index() != 0) return;
  if (atomics) {
    atomicAdd(out, 1);
  } else {
    *out = 1;
  }
}

struct Message {
  bool barrier_before = true;
  bool fence_before = true;
  bool fence_after = true;
  bool barrier_after = true;
};

// Block 0 tells block 1 through a counter that it has written.
__global__ void message_kernel(Message message, unsigned* counter, int* data, int* out) {
  const unsigned thread = threadIdx.x;
  if (blockIdx.x == 0) {
    data[thread] = 1;
    if (message.barrier_before) __syncthreads();
    if (thread != 0) return;
    if (message.fence_before) __threadfence();
    atomicAdd(counter, 1U);
    return;
  }
  while (atomicAdd(counter, 0U) == 0) __nanosleep(10);
  if (thread == 0 && message.fence_after) __threadfence();
  if (message.barrier_after) __syncthreads();
  out[thread] = data[(thread + 1) % blockDim.x];
}

class RaceCheckers : public testing::HostCudaTest {
 protected:
  template <typename... Parameters>
  std::vector<std::string> races_of(void (*kernel)(Parameters...), unsigned blocks,
                                    std::type_identity_t<Parameters>... arguments) {
    if (!remember_) host_cuda::watch_for_races();
    const gpu::Stream stream;
    gpu::launch(kernel, {blocks, 64, 64 * sizeof(int)}, stream.get(), arguments...);
    stream.synchronize();
    return host_cuda::take_races();
  }
  bool remember_ = false;  ///< Skip races that were told already.
  int out_[128] = {};
};

TEST_F(RaceCheckers, WithinAWarp) {
  for (const Order order : {Order::kNothing, Order::kShuffle}) {
    EXPECT_THAT(races_of(read_neighbour_kernel, 1, order, 1, out_), Not(IsEmpty()));
  }
  EXPECT_THAT(races_of(read_neighbour_kernel, 1, Order::kBlock, 1, out_), IsEmpty());
  EXPECT_THAT(races_of(overwrite_kernel, 1, Order::kBlock, out_), IsEmpty());
}

TEST_F(RaceCheckers, BetweenWarps) {
  // Lane 31 reads what the next warp wrote.
  for (const Order order : {Order::kNothing, Order::kShuffle, Order::kWarp}) {
    const auto races = races_of(read_neighbour_kernel, 1, order, 32, out_);
    EXPECT_THAT(races, Not(IsEmpty()));
    EXPECT_THAT(races, Each(HasSubstr("shared memory")));
    EXPECT_THAT(races_of(overwrite_kernel, 1, order, out_), Not(IsEmpty()));
  }
  EXPECT_THAT(races_of(read_neighbour_kernel, 1, Order::kBlock, 32, out_), IsEmpty());
}

TEST_F(RaceCheckers, EachPairOfPlacesIsToldOnce) {
  EXPECT_THAT(races_of(write_same_kernel, 2, false, out_), Not(IsEmpty()));
  remember_ = true;
  EXPECT_THAT(races_of(write_same_kernel, 2, false, out_), IsEmpty());
}

TEST_F(RaceCheckers, Atomics) {
  EXPECT_THAT(races_of(count_kernel, 1, true, false, out_), IsEmpty());
  EXPECT_THAT(races_of(count_kernel, 1, false, false, out_), Not(IsEmpty()));
  EXPECT_THAT(races_of(count_kernel, 1, true, true, out_), Not(IsEmpty()));
}

TEST_F(RaceCheckers, MessagesBetweenBlocks) {
  host_cuda::set_resident_blocks(2);
  const auto races = [&](const Message& message) {
    unsigned counter = 0;
    int data[64];
    return races_of(message_kernel, 2, message, &counter, data, out_);
  };
  EXPECT_THAT(races({}), IsEmpty());
  EXPECT_THAT(races({.fence_before = false}), Each(HasSubstr("another block")));
  EXPECT_THAT(races({.fence_before = false}), Not(IsEmpty()));
  EXPECT_THAT(races({.fence_after = false}), Not(IsEmpty()));
  EXPECT_THAT(races({.barrier_before = false}), Not(IsEmpty()));
  EXPECT_THAT(races({.barrier_after = false}), Not(IsEmpty()));
}

TEST_F(RaceCheckers, BetweenBlocks) {
  EXPECT_THAT(races_of(write_same_kernel, 1, false, out_), IsEmpty());
  EXPECT_THAT(races_of(write_same_kernel, 3, true, out_), IsEmpty());
  EXPECT_THAT(races_of(write_same_kernel, 2, false, out_), Each(HasSubstr("another block")));
  // Shared memory and stacks are used again by the next block.
  EXPECT_THAT(races_of(read_neighbour_kernel, 2, Order::kBlock, 32, out_), IsEmpty());
}

}  // namespace
}  // namespace neuroshard
