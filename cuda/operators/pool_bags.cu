#include "cuda/device/launch.h"
#include "cuda/operators/bag_tables.cuh"
#include "cuda/operators/pool_bags.h"

namespace neuroshard::gpu {
namespace {

// Forward of a fused embedding-bag operator, all tables of a shard in one launch. A block has one
// table; dim / 4 lanes have a bag and a quad of columns each, so that a row is read as one piece,
// 16 bytes a lane. Indices are read by all lanes of a bag at the same address. Bound by device
// memory (rows missed by the L2) or by the L2 (hot rows): four rows of a bag are on their way at a
// time, 64 bytes a thread.
__global__ void __launch_bounds__(kBagThreads) pool_bags_kernel(const PoolArgs args) {
  const BagTable table = args.tables[table_of_block(
      args.count, blockIdx.x, [&](int t) { return args.tables[t].first_pooling; })];
  const auto thread = static_cast<unsigned>(threadIdx.x);
  const std::int64_t group = thread >> table.lanes_log2;
  const int lanes = 1 << table.lanes_log2;
  const std::int64_t bag = static_cast<std::int64_t>(blockIdx.x - table.first_pooling) *
                               (kBagThreads >> table.lanes_log2) +
                           group;
  if (bag >= args.batch) return;
  const std::int64_t begin = read_only(table.offsets + bag);
  const std::int64_t end = read_only(table.offsets + bag + 1);
  const int quads = table.dim / 4;
  const auto* weights = reinterpret_cast<const float4*>(table.weights);
  auto* output = reinterpret_cast<float4*>(args.output + bag * args.stride + table.column);
  for (int quad = static_cast<int>(thread) & (lanes - 1); quad < quads; quad += lanes) {
    constexpr int kAtOnce = 4;
    float4 sum = zeros();
    std::int64_t i = begin;
    for (; i + kAtOnce <= end; i += kAtOnce) {
      std::int64_t row[kAtOnce];
      float4 values[kAtOnce];
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) row[k] = read_only(table.indices + i + k);
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) values[k] = read_only(weights + row[k] * quads + quad);
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) sum = sum_of(sum, values[k]);
    }
    for (; i < end; ++i) {
      sum = sum_of(sum, read_only(weights + read_only(table.indices + i) * quads + quad));
    }
    output[quad] = sum;
  }
}

}  // namespace

int bags_of_block(int lanes_log2) { return kBagThreads >> lanes_log2; }

void pool_bags(const PoolArgs& args, unsigned blocks, cudaStream_t stream) {
  launch(pool_bags_kernel, {blocks, kBagThreads, 0}, stream, args);
}

}  // namespace neuroshard::gpu
