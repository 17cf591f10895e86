#include <algorithm>

#include "bench/gpu/blas_kernels.h"
#include "cuda/device/launch.h"
#include "cuda/device/warp.cuh"

namespace neuroshard::bench {
namespace {

using gpu::kWarpSize;
using gpu::read_only;

constexpr int kThreads = 256;
// Most blocks of a grid; threads go on from there.
constexpr std::int64_t kMaxBlocks = 1 << 16;

unsigned blocks_for(std::int64_t threads) {
  return static_cast<unsigned>(std::min((threads + kThreads - 1) / kThreads, kMaxBlocks));
}

__device__ std::int64_t first_item() {
  return static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
}
__device__ std::int64_t item_stride() { return static_cast<std::int64_t>(gridDim.x) * kThreads; }

// A thread sums four floats of one shard: 16-byte loads, side by side, four of them on their way.
__global__ void sum_embeddings_kernel(const float* embeddings, int quads,
                                      const std::uint32_t* offsets, const std::uint32_t* piece_ids,
                                      int shards, float* sums) {
  const std::int64_t items = static_cast<std::int64_t>(shards) * quads;
  for (std::int64_t item = first_item(); item < items; item += item_stride()) {
    const std::int64_t shard = item / quads;
    const std::int64_t quad = item % quads;
    const std::uint32_t begin = read_only(offsets + shard);
    const std::uint32_t end = read_only(offsets + shard + 1);
    float4 sum = make_float4(0.0F, 0.0F, 0.0F, 0.0F);
#pragma unroll 4
    for (std::uint32_t k = begin; k < end; ++k) {
      const std::int64_t at = static_cast<std::int64_t>(read_only(piece_ids + k)) * quads + quad;
      const float4 row = read_only(reinterpret_cast<const float4*>(embeddings) + at);
      sum = make_float4(sum.x + row.x, sum.y + row.y, sum.z + row.z, sum.w + row.w);
    }
    reinterpret_cast<float4*>(sums)[item] = sum;
  }
}

__device__ float biased(float x, float bias, bool relu) {
  return relu ? gpu::rectified(x + bias) : x + bias;
}

__global__ void add_bias_kernel(float* rows, std::int64_t floats, int units, const float* bias,
                                bool relu) {
  for (std::int64_t i = first_item(); i < floats; i += item_stride()) {
    rows[i] = biased(rows[i], read_only(bias + i % units), relu);
  }
}

__global__ void add_bias_to_quads_kernel(float4* rows, std::int64_t quads, int quads_of_row,
                                         const float4* bias, bool relu) {
  for (std::int64_t i = first_item(); i < quads; i += item_stride()) {
    const float4 b = read_only(bias + i % quads_of_row);
    const float4 x = rows[i];
    rows[i] = make_float4(biased(x.x, b.x, relu), biased(x.y, b.y, relu), biased(x.z, b.z, relu),
                          biased(x.w, b.w, relu));
  }
}

}  // namespace

void sum_embeddings(const float* embeddings, int width, const std::uint32_t* offsets,
                    const std::uint32_t* piece_ids, int shards, float* sums, cudaStream_t stream) {
  const int quads = width / 4;
  gpu::launch(sum_embeddings_kernel,
              {blocks_for(static_cast<std::int64_t>(shards) * quads), kThreads, 0}, stream,
              embeddings, quads, offsets, piece_ids, shards, sums);
}

void add_bias(float* rows, int count, int units, const float* bias, bool relu,
              cudaStream_t stream) {
  const std::int64_t floats = static_cast<std::int64_t>(count) * units;
  if (units % 4 == 0) {
    gpu::launch(add_bias_to_quads_kernel, {blocks_for(floats / 4), kThreads, 0}, stream,
                reinterpret_cast<float4*>(rows), floats / 4, units / 4,
                reinterpret_cast<const float4*>(bias), relu);
  } else {
    gpu::launch(add_bias_kernel, {blocks_for(floats), kThreads, 0}, stream, rows, floats, units,
                bias, relu);
  }
}

}  // namespace neuroshard::bench
