#include "bench/gpu/shared_load_kernel.h"
#include "cuda/device/launch.h"
#include "cuda/device/warp.cuh"
#include "cuda/networks/network_view.h"
#include "neuroshard/error.h"

namespace neuroshard::bench {
namespace {

using gpu::kWarpSize;

// Four warps a scheduler, each with loads on their way that do not wait for one another.
constexpr int kThreads = 512;
constexpr int kUnrolled = 16;
constexpr int kSums = 4;
// Places that a lane reads one after the other, in a circle.
constexpr int kPlaces = 64;
constexpr unsigned kFactor = 2654435761U;

constexpr SharedLoad kLoads[] = {{"4 bytes, the same for all lanes", 4, true},
                                 {"8 bytes, the same for all lanes", 8, true},
                                 {"16 bytes, the same for all lanes", 16, true},
                                 {"4 bytes, side by side", 4, false},
                                 {"16 bytes, side by side", 16, false}};

// From one place to the next, in units of what a lane reads.
NEUROSHARD_HOST_DEVICE constexpr int place_stride(bool broadcast) {
  return broadcast ? 1 : kWarpSize;
}

__device__ unsigned folded(unsigned w) { return w; }
__device__ unsigned folded(const uint2& w) { return w.x ^ w.y; }
__device__ unsigned folded(const uint4& w) { return w.x ^ w.y ^ w.z ^ w.w; }

// A loaded word is used by at most two logical operations, of which a multiprocessor does two a
// cycle: loads that take less than a cycle would not show.
template <typename Word, bool kBroadcast>
__global__ void __launch_bounds__(kThreads, 1)
    shared_loads_kernel(int rounds, int step, long long* cycles, unsigned* sums) {
  constexpr int kStride = place_stride(kBroadcast);
  constexpr int kWords = kPlaces * kStride * static_cast<int>(sizeof(Word) / sizeof(unsigned));
  auto* words = reinterpret_cast<unsigned*>(gpu::dynamic_shared_memory());
  for (int i = static_cast<int>(threadIdx.x); i < kWords; i += kThreads) {
    words[i] = static_cast<unsigned>(i) * kFactor;
  }
  const auto* mine = reinterpret_cast<const Word*>(words) + (kBroadcast ? 0 : gpu::lane_index());
  unsigned sum[kSums] = {};
  __syncthreads();
  const long long start = clock64();
  int place = 0;
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int i = 0; i < kUnrolled; ++i) sum[i % kSums] ^= folded(mine[(place + i) * kStride]);
    // By a step that is not known when compiled, so that no load is moved out of the loop.
    place = (place + step) % (kPlaces - kUnrolled + 1);
  }
  __syncthreads();
  const long long end = clock64();
  if (threadIdx.x == 0) cycles[blockIdx.x] = end - start;
  if (blockIdx.x == 0) sums[threadIdx.x] = sum[0] + 3 * sum[1] + 5 * sum[2] + 7 * sum[3];
}

using Kernel = void (*)(int, int, long long*, unsigned*);

Kernel kernel_for(const SharedLoad& load) {
  if (load.broadcast && load.bytes == 4) return shared_loads_kernel<unsigned, true>;
  if (load.broadcast && load.bytes == 8) return shared_loads_kernel<uint2, true>;
  if (load.broadcast && load.bytes == 16) return shared_loads_kernel<uint4, true>;
  if (load.bytes == 4) return shared_loads_kernel<unsigned, false>;
  if (load.bytes == 16) return shared_loads_kernel<uint4, false>;
  throw Error("there is no kernel for such loads of " + std::to_string(load.bytes) + " bytes");
}

constexpr int kStep = 7;

}  // namespace

std::span<const SharedLoad> shared_loads() { return kLoads; }

double shared_loads_in_block(int rounds) {
  return static_cast<double>(kThreads) / kWarpSize * kUnrolled * rounds;
}

SharedLoadResult run_shared_loads(const SharedLoad& load, int multiprocessors, int rounds,
                                  const gpu::Stream& stream) {
  SharedLoadResult result;
  result.cycles.resize(static_cast<std::size_t>(multiprocessors));
  result.sums.resize(kThreads);
  const std::size_t cycle_bytes = result.cycles.size() * sizeof(long long);
  const std::size_t sum_bytes = result.sums.size() * sizeof(unsigned);
  gpu::DeviceBuffer cycles;
  gpu::DeviceBuffer sums;
  cycles.reserve(cycle_bytes);
  sums.reserve(sum_bytes);
  const auto shared_bytes =
      static_cast<std::size_t>(kPlaces * place_stride(load.broadcast) * load.bytes);
  gpu::launch(kernel_for(load), {static_cast<unsigned>(multiprocessors), kThreads, shared_bytes},
              stream.get(), rounds, kStep, reinterpret_cast<long long*>(cycles.data()),
              reinterpret_cast<unsigned*>(sums.data()));
  stream.copy_to_host(reinterpret_cast<std::byte*>(result.cycles.data()), cycles.data(),
                      cycle_bytes);
  stream.copy_to_host(reinterpret_cast<std::byte*>(result.sums.data()), sums.data(), sum_bytes);
  stream.synchronize();
  return result;
}

std::vector<unsigned> expected_sums(const SharedLoad& load, int rounds) {
  const auto words = static_cast<unsigned>(load.bytes) / 4U;
  std::vector<unsigned> expected(kThreads);
  for (unsigned thread = 0; thread < kThreads; ++thread) {
    const unsigned lane = load.broadcast ? 0 : thread % kWarpSize;
    unsigned sum[kSums] = {};
    unsigned place = 0;
    for (int round = 0; round < rounds; ++round) {
      for (unsigned i = 0; i < kUnrolled; ++i) {
        const unsigned stride = static_cast<unsigned>(place_stride(load.broadcast));
        const unsigned first = ((place + i) * stride + lane) * words;
        for (unsigned w = first; w < first + words; ++w) sum[i % kSums] ^= w * kFactor;
      }
      place = (place + kStep) % (kPlaces - kUnrolled + 1);
    }
    expected[thread] = sum[0] + 3 * sum[1] + 5 * sum[2] + 7 * sum[3];
  }
  return expected;
}

}  // namespace neuroshard::bench
