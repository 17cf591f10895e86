// The shim itself: what it computes, and that it notices what kernels do wrong.
#include <cuda_pipeline_primitives.h>
#include <cuda_runtime.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "cuda_host/fiber.h"
#include "cuda_host/host_cuda.h"

namespace {

using ::host_cuda::KernelFault;
using ::host_cuda::Schedule;
using ::testing::Each;
using ::testing::HasSubstr;

class HostCuda : public ::testing::TestWithParam<Schedule> {
 protected:
  void SetUp() override {
    host_cuda::reset({.schedule = GetParam(), .seed = 7});
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
  }
  void TearDown() override {
    (void)cudaStreamDestroy(stream_);
    EXPECT_EQ(host_cuda::usage().device_allocations, 0U);
    host_cuda::reset();
  }

  template <typename... P>
  cudaError_t run(unsigned blocks, unsigned threads, std::size_t shared, void (*kernel)(P...),
                  std::type_identity_t<P>... arguments) {
    void* pointers[] = {&arguments..., nullptr};
    const cudaError_t launched =
        cudaLaunchKernel(kernel, dim3(blocks), dim3(threads), pointers, shared, stream_);
    return launched != cudaSuccess ? launched : cudaStreamSynchronize(stream_);
  }

  void expect_fault(unsigned threads, void (*kernel)(), const char* what) {
    try {
      (void)run(1, threads, 0, kernel);
      FAIL() << "no fault; expected " << what;
    } catch (const KernelFault& fault) {
      EXPECT_THAT(fault.what(), HasSubstr(what));
    }
  }

  cudaStream_t stream_ = nullptr;
};

INSTANTIATE_TEST_SUITE_P(Schedules, HostCuda,
                         ::testing::Values(Schedule::kForward, Schedule::kBackward,
                                           Schedule::kShuffled));

__global__ void sum_of_block_kernel(const float* in, float* out) {
  auto* shared = reinterpret_cast<float*>(host_cuda::this_thread().shared);
  float x = in[blockIdx.x * blockDim.x + threadIdx.x];
  for (int distance = 16; distance > 0; distance /= 2) {
    x += __shfl_xor_sync(0xFFFFFFFFU, x, distance);
  }
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = x;
  __syncthreads();
  float sum = 0;
  for (unsigned warp = 0; warp < blockDim.x / 32; ++warp) sum += shared[warp];
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

TEST_P(HostCuda, RunsShufflesAndBarriers) {
  std::vector<float> in(3 * 128);
  std::vector<float> out(in.size(), -1.0F);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i);
  ASSERT_EQ(run(3, 128, 4 * sizeof(float), sum_of_block_kernel, in.data(), out.data()),
            cudaSuccess);
  for (int block = 0; block < 3; ++block) {
    const float expected = 128.0F * (128.0F * static_cast<float>(block) + 63.5F);
    EXPECT_THAT(std::vector<float>(out.begin() + block * 128, out.begin() + (block + 1) * 128),
                Each(expected));
  }
}

__global__ void votes_kernel(unsigned* out) {
  const unsigned lane = threadIdx.x;
  const unsigned even = __ballot_sync(0xFFFFFFFFU, lane % 2 == 0);
  const unsigned least = __reduce_min_sync(0xFFFFFFFFU, lane + 5);
  const unsigned half = lane < 16 ? __ballot_sync(0x0000FFFFU, 1) : __ballot_sync(0xFFFF0000U, 1);
  const double wide = __shfl_sync(0xFFFFFFFFU, static_cast<double>(lane) / 3, 7);
  out[lane] = (even == 0x55555555U ? 1U : 0U) + (least == 5 ? 2U : 0U) +
              (half == (lane < 16 ? 0x0000FFFFU : 0xFFFF0000U) ? 4U : 0U) +
              (wide == 7.0 / 3 ? 8U : 0U);
}

TEST_P(HostCuda, RunsVotesAndReductions) {
  std::vector<unsigned> out(32);
  ASSERT_EQ(run(1, 32, 0, votes_kernel, out.data()), cudaSuccess);
  EXPECT_THAT(out, Each(15U));
}

__global__ void twice_kernel(const int* in, int* mapped, int* own) {
  mapped[threadIdx.x] = 2 * in[threadIdx.x];
  own[threadIdx.x] = 2 * in[threadIdx.x] + 1;
}

// Two waits, the first for memory that the kernel writes itself, the second for a copy of it.
TEST_P(HostCuda, PlaysWhatItHasRecorded) {
  constexpr std::size_t kBytes = 32 * sizeof(int);
  const std::vector<int> in(32, 4);
  int* mapped = nullptr;
  int* copied = nullptr;
  int* own = nullptr;
  ASSERT_EQ(cudaHostAlloc(reinterpret_cast<void**>(&mapped), kBytes, 0), cudaSuccess);
  ASSERT_EQ(cudaHostAlloc(reinterpret_cast<void**>(&copied), kBytes, 0), cudaSuccess);
  ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&own), kBytes), cudaSuccess);
  const auto forget = [&] {
    std::fill_n(mapped, 32, 0);
    std::fill_n(copied, 32, 0);
  };
  const auto work = [&] {
    ASSERT_EQ(run(1, 32, 0, twice_kernel, in.data(), mapped, own), cudaSuccess);
    EXPECT_THAT(std::vector<int>(mapped, mapped + 32), Each(8));
    EXPECT_THAT(std::vector<int>(copied, copied + 32), Each(0));
    ASSERT_EQ(cudaMemcpyAsync(copied, own, kBytes, cudaMemcpyDeviceToHost, stream_), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
    EXPECT_THAT(std::vector<int>(copied, copied + 32), Each(9));
  };
  forget();
  host_cuda::set_work(host_cuda::Work::kRecorded);
  work();
  host_cuda::set_work(host_cuda::Work::kPlayed);
  std::memset(own, 0, kBytes);
  for (int again = 0; again < 3; ++again) {
    forget();
    work();
  }
  EXPECT_EQ(own[0], 0);
  host_cuda::set_work(host_cuda::Work::kDone);
  forget();
  work();
  EXPECT_EQ(own[0], 9);
  EXPECT_EQ(cudaFreeHost(mapped), cudaSuccess);
  EXPECT_EQ(cudaFreeHost(copied), cudaSuccess);
  EXPECT_EQ(cudaFree(own), cudaSuccess);
}

__global__ void read_unwritten_kernel(float* out) {
  const auto* shared = reinterpret_cast<const float*>(host_cuda::this_thread().shared);
  out[threadIdx.x] = shared[threadIdx.x];
}

TEST_P(HostCuda, PoisonsMemory) {
  std::vector<float> out(32, 0.0F);
  ASSERT_EQ(run(1, 32, 32 * sizeof(float), read_unwritten_kernel, out.data()), cudaSuccess);
  for (const float x : out) EXPECT_TRUE(std::isnan(x));
  void* memory = nullptr;
  ASSERT_EQ(cudaMalloc(&memory, 4), cudaSuccess);
  EXPECT_TRUE(std::isnan(*static_cast<float*>(memory)));
  EXPECT_EQ(cudaFree(memory), cudaSuccess);
}

// Copies what two copies of two groups have brought by the time that one group may still be on its
// way.
__global__ void copies_kernel(const unsigned* in, bool waits_for_all, unsigned* out) {
  auto* shared = reinterpret_cast<unsigned*>(host_cuda::this_thread().shared);
  const unsigned i = threadIdx.x;
  __pipeline_memcpy_async(shared + 4 * i, in + 4 * i, 16);
  __pipeline_commit();
  __pipeline_memcpy_async(shared + 4 * blockDim.x + i, in + 4 * blockDim.x + i, 4);
  __pipeline_commit();
  __pipeline_wait_prior(waits_for_all ? 0 : 1);
  for (unsigned k = 0; k < 4; ++k) out[4 * i + k] = shared[4 * i + k];
  out[4 * blockDim.x + i] = shared[4 * blockDim.x + i];
  __pipeline_wait_prior(0);
}

TEST_P(HostCuda, CopiesArriveWhenTheyAreWaitedFor) {
  std::vector<unsigned> in(5 * 32);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<unsigned>(i) * 3U;
  std::vector<unsigned> out(in.size());
  ASSERT_EQ(run(1, 32, in.size() * 4, copies_kernel, in.data(), true, out.data()), cudaSuccess);
  EXPECT_EQ(out, in);
  ASSERT_EQ(run(1, 32, in.size() * 4, copies_kernel, in.data(), false, out.data()), cudaSuccess);
  std::fill(in.begin() + 128, in.end(), 0xFFFFFFFFU);
  EXPECT_EQ(out, in);
}

__global__ void forgotten_copy_kernel() {
  alignas(16) static unsigned from[4];
  alignas(16) static unsigned to[4];
  __pipeline_memcpy_async(to, from, 16);
  __pipeline_commit();
}
__global__ void misaligned_copy_kernel() {
  alignas(16) static unsigned from[8];
  alignas(16) static unsigned to[8];
  __pipeline_memcpy_async(to, from + 1, 16);
}

TEST_P(HostCuda, ReportsCopiesThatAreNotWaitedFor) {
  expect_fault(1, forgotten_copy_kernel, "without waiting for a copy");
}
TEST_P(HostCuda, ReportsMisalignedCopies) {
  expect_fault(1, misaligned_copy_kernel, "aligned bytes");
}

__global__ void half_at_barrier_kernel() {
  if (threadIdx.x < 32) __syncthreads();
}
__global__ void half_of_lanes_kernel() {
  if (threadIdx.x < 16) (void)__ballot_sync(0xFFFFFFFFU, 1);
}
__global__ void divergent_waits_kernel() {
  if (threadIdx.x < 16) {
    __syncthreads();
  } else {
    __syncwarp();
  }
}
__global__ void mixed_operations_kernel() {
  if (threadIdx.x < 16) {
    __syncwarp();
  } else {
    (void)__ballot_sync(0xFFFFFFFFU, 1);
  }
}
__global__ void mask_without_caller_kernel() { (void)__ballot_sync(0x0000FFFFU, 1); }
__global__ void shuffle_outside_mask_kernel() {
  if (threadIdx.x < 16) (void)__shfl_sync(0x0000FFFFU, 1, 20);
}

TEST_P(HostCuda, ReportsDivergentBarriers) {
  expect_fault(64, half_at_barrier_kernel, "__syncthreads");
}
TEST_P(HostCuda, ReportsLanesThatEnded) { expect_fault(32, half_of_lanes_kernel, "has ended"); }
TEST_P(HostCuda, ReportsDeadlocks) { expect_fault(32, divergent_waits_kernel, "deadlock"); }
TEST_P(HostCuda, ReportsMixedOperations) {
  expect_fault(32, mixed_operations_kernel, "of its warp is at");
}
TEST_P(HostCuda, ReportsMasksWithoutTheCaller) {
  expect_fault(32, mask_without_caller_kernel, "leaves out the calling lane");
}
TEST_P(HostCuda, ReportsShufflesOutsideTheMask) {
  expect_fault(32, shuffle_outside_mask_kernel, "outside its mask");
}
TEST_P(HostCuda, ReportsLanesThatDoNotExist) {
  expect_fault(
      16, [] { __syncwarp(); }, "do not exist");
}

// Blocks pass a number on, the last one first.
__global__ void relay_kernel(unsigned* counter) {
  const unsigned turn = gridDim.x - 1 - blockIdx.x;
  if (threadIdx.x == 0) {
    while (atomicAdd(counter, 0U) != turn) __nanosleep(10);
  }
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(counter, 1U);
}

TEST_P(HostCuda, BlocksThatRunAtOnceWaitForEachOther) {
  host_cuda::set_resident_blocks(3);
  unsigned counter = 0;
  EXPECT_EQ(run(3, 64, 0, relay_kernel, &counter), cudaSuccess);
  EXPECT_EQ(counter, 3U);
  // Blocks that are not there yet are waited for in vain: some schedule has none of the four last.
  counter = 0;
  if (GetParam() == Schedule::kBackward) return;
  EXPECT_THROW((void)run(4, 64, 0, relay_kernel, &counter), KernelFault);
}

TEST_P(HostCuda, FurtherBlocksBeginAsOthersEnd) {
  host_cuda::set_resident_blocks(2);
  std::vector<float> in(7 * 128, 1.0F);
  std::vector<float> out(in.size(), -1.0F);
  ASSERT_EQ(run(7, 128, 4 * sizeof(float), sum_of_block_kernel, in.data(), out.data()),
            cudaSuccess);
  EXPECT_THAT(out, Each(128.0F));
}

__global__ void write_kernel(int* out, int value) { out[threadIdx.x] = value; }

TEST_P(HostCuda, RunsStreamsLateAndCopiesArgumentsEarly) {
  int out = 0;
  int* pointer = &out;
  int value = 5;
  void* arguments[] = {&pointer, &value};
  ASSERT_EQ(cudaLaunchKernel(write_kernel, dim3(1), dim3(1), arguments, 0, stream_), cudaSuccess);
  value = 6;
  EXPECT_EQ(out, 0);
  ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  EXPECT_EQ(out, 5);
}

TEST_P(HostCuda, FailsAtTheLaunchAskedForAndForGood) {
  host_cuda::fail_after(1);
  int out = 0;
  EXPECT_EQ(run(1, 1, 0, write_kernel, &out, 1), cudaSuccess);
  EXPECT_EQ(run(1, 1, 0, write_kernel, &out, 2), cudaErrorIllegalAddress);
  EXPECT_EQ(out, 1);
  void* memory = nullptr;
  EXPECT_EQ(cudaMalloc(&memory, 4), cudaErrorIllegalAddress);
}

#ifdef HOST_CUDA_ASAN
__global__ void overrun_shared_kernel() {
  host_cuda::this_thread().shared[128 + threadIdx.x] = std::byte{1};
}
__global__ void overrun_device_kernel(int* out) { out[threadIdx.x] = 1; }

TEST_P(HostCuda, StopsAtAccessesOutOfBounds) {
  EXPECT_DEATH((void)run(1, 32, 128, overrun_shared_kernel), "heap-buffer-overflow");
  void* memory = nullptr;
  ASSERT_EQ(cudaMalloc(&memory, 31 * sizeof(int)), cudaSuccess);
  EXPECT_DEATH((void)run(1, 32, 0, overrun_device_kernel, static_cast<int*>(memory)),
               "heap-buffer-overflow");
  EXPECT_EQ(cudaFree(memory), cudaSuccess);
}
#endif

}  // namespace
