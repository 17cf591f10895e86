#include "cuda/device/launch.h"
#include "cuda/operators/bag_tables.cuh"
#include "cuda/operators/lookup_keys.h"

namespace neuroshard::gpu {
namespace {

constexpr int kBagsOfBlock = kBagThreads;  // A warp has as many bags as lanes.

unsigned blocks_of_table(std::int64_t batch) {
  return static_cast<unsigned>((batch + kBagsOfBlock - 1) / kBagsOfBlock);
}

// A warp has 32 bags, whose lookups lie one behind the other: it reads and writes them in order, 32
// at a time, however they spread over the bags. Lane l knows where bag l ends; the bag of a lookup
// is found among those with five shuffles. Bound by device memory: 8 bytes in, 8 out.
__global__ void __launch_bounds__(kBagThreads) write_lookup_keys_kernel(const KeyArgs args) {
  const auto blocks = static_cast<unsigned>((args.batch + kBagsOfBlock - 1) / kBagsOfBlock);
  const BagTable table = args.tables[blockIdx.x / blocks];
  const std::int64_t first_bag =
      static_cast<std::int64_t>(blockIdx.x % blocks) * kBagsOfBlock + warp_index() * kWarpSize;
  if (first_bag >= args.batch) return;
  const std::int64_t bag = first_bag + lane_index();
  // Bags behind the last one are empty.
  const std::int64_t my_end = read_only(table.offsets + (bag < args.batch ? bag + 1 : args.batch));
  const std::int64_t begin = read_only(table.offsets + first_bag);
  const std::int64_t end = __shfl_sync(kAllLanes, my_end, kWarpSize - 1);
  for (std::int64_t base = begin; base < end; base += kWarpSize) {
    const std::int64_t i = base + lane_index();
    // The number of bags that end at or before lookup `i`. A lane without a lookup looks, too:
    // all have to take part in the shuffles.
    int behind = 0;
#pragma unroll
    for (int step = kWarpSize / 2; step > 0; step /= 2) {
      if (__shfl_sync(kAllLanes, my_end, behind + step - 1) <= i) behind += step;
    }
    if (i >= end) continue;
    const std::int64_t place = table.first_lookup + i;
    args.keys[place] = table.first_key + static_cast<std::uint32_t>(read_only(table.indices + i));
    args.samples[place] = static_cast<std::uint32_t>(first_bag) + static_cast<unsigned>(behind);
  }
}

}  // namespace

void write_lookup_keys(const KeyArgs& args, cudaStream_t stream) {
  const unsigned blocks = static_cast<unsigned>(args.count) * blocks_of_table(args.batch);
  launch(write_lookup_keys_kernel, {blocks, kBagThreads, 0}, stream, args);
}

}  // namespace neuroshard::gpu
