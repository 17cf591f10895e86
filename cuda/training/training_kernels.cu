#include <algorithm>

#include "cuda/device/launch.h"
#include "cuda/device/warp.cuh"
#include "cuda/training/training_kernels.h"

namespace neuroshard::gpu {
namespace {

// The arrays of a step fit in the L2 cache, and most kernels are over before a launch is; so each
// does the obvious with loads side by side. Sums have a fixed order, and nothing is added by
// atomics: training gives the same weights run after run.

constexpr int kThreads = 256;
constexpr std::int64_t kMaxBlocks = 1 << 16;  // Threads go on from there.

unsigned blocks_for(std::int64_t threads) {
  return static_cast<unsigned>(std::min((threads + kThreads - 1) / kThreads, kMaxBlocks));
}
unsigned blocks_of_warps(const BatchView& batch) {
  return blocks_for(std::int64_t{batch.count} * kWarpSize);
}

__device__ std::int64_t first_item() {
  return static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
}
__device__ std::int64_t item_stride() { return static_cast<std::int64_t>(gridDim.x) * kThreads; }
__device__ int first_sample() { return static_cast<int>(first_item() / kWarpSize); }
__device__ int sample_stride() { return static_cast<int>(item_stride() / kWarpSize); }

// Rows of sample `i` of a batch.
struct SampleRows {
  std::int64_t first;  // In the batch.
  int count;

  __device__ SampleRows(const BatchView& batch, int i)
      : first(read_only(batch.first_rows + i) - read_only(batch.first_rows)),
        count(static_cast<int>(read_only(batch.first_rows + i + 1) -
                               read_only(batch.first_rows + i))) {}
};

// A thread an element.
__global__ void __launch_bounds__(kThreads)
    clear_rows_kernel(float* rows, std::int64_t floats, int units, int stride) {
  for (std::int64_t i = first_item(); i < floats; i += item_stride()) {
    rows[i] = i % stride == units ? 1.0F : 0.0F;
  }
}

// A warp a sample; its lanes go through the quads of all its rows.
__global__ void __launch_bounds__(kThreads)
    gather_rows_kernel(const BatchView batch, const float4* inputs, const std::uint32_t* row_ids,
                       int quads, float4* rows) {
  for (int i = first_sample(); i < batch.count; i += sample_stride()) {
    const SampleRows mine(batch, i);
    const std::int64_t from = read_only(batch.sample_rows + read_only(batch.samples + i));
    for (int item = lane_index(); item < mine.count * quads; item += kWarpSize) {
      std::int64_t row = from + item / quads;
      if (row_ids != nullptr) row = read_only(row_ids + row);
      rows[mine.first * quads + item] = read_only(inputs + row * quads + item % quads);
    }
  }
}

// A thread a quad, as in the next one.
__global__ void __launch_bounds__(kThreads) rectify_kernel(float4* rows, std::int64_t quads) {
  for (std::int64_t i = first_item(); i < quads; i += item_stride()) {
    const float4 x = rows[i];
    rows[i] = make_float4(rectified(x.x), rectified(x.y), rectified(x.z), rectified(x.w));
  }
}

__device__ float where_above_0(float x, float gradient) { return x > 0.0F ? gradient : 0.0F; }

__global__ void __launch_bounds__(kThreads)
    stop_at_zero_kernel(const float4* rows, std::int64_t quads, float4* gradients) {
  for (std::int64_t i = first_item(); i < quads; i += item_stride()) {
    const float4 x = read_only(rows + i);
    const float4 g = gradients[i];
    gradients[i] = make_float4(where_above_0(x.x, g.x), where_above_0(x.y, g.y),
                               where_above_0(x.z, g.z), where_above_0(x.w, g.w));
  }
}

// A thread a unit of a sample: 32 of them read 128 bytes of each row.
__global__ void __launch_bounds__(kThreads)
    pool_rows_kernel(const BatchView batch, const float* rows, int units, int stride, float* sums) {
  const std::int64_t items = static_cast<std::int64_t>(batch.count) * units;
  for (std::int64_t item = first_item(); item < items; item += item_stride()) {
    const int i = static_cast<int>(item / units);
    const int unit = static_cast<int>(item % units);
    const SampleRows mine(batch, i);
    float sum = 0.0F;
#pragma unroll 4
    for (std::int64_t row = mine.first; row < mine.first + mine.count; ++row) {
      sum += rectified(read_only(rows + row * stride + unit));
    }
    sums[static_cast<std::int64_t>(i) * stride + unit] = sum;
  }
}

// A warp a sample; its lanes go through the units of all its rows.
__global__ void __launch_bounds__(kThreads)
    spread_gradients_kernel(const BatchView batch, const float* rows, const float* sum_gradients,
                            int units, int stride, float* gradients) {
  for (int i = first_sample(); i < batch.count; i += sample_stride()) {
    const SampleRows mine(batch, i);
    const float* of_sum = sum_gradients + static_cast<std::int64_t>(i) * stride;
    for (int item = lane_index(); item < mine.count * units; item += kWarpSize) {
      const int unit = item % units;
      const std::int64_t at = (mine.first + item / units) * stride + unit;
      gradients[at] = where_above_0(read_only(rows + at), read_only(of_sum + unit));
    }
  }
}

__device__ double butterfly_sum(double partial) {
#pragma unroll
  for (int distance = kWarpSize / 2; distance > 0; distance /= 2) {
    partial += __shfl_xor_sync(kAllLanes, partial, distance);
  }
  return partial;
}

// A warp a sample, a lane a cost. In double, as on the CPU.
__global__ void __launch_bounds__(kThreads) take_losses_kernel(const LossArgs args) {
  for (int i = first_sample(); i < args.batch.count; i += sample_stride()) {
    const std::uint32_t sample = read_only(args.batch.samples + i);
    std::int64_t first_row = i;
    std::int64_t first_cost = sample;
    int costs = 1;
    if (!args.pooled) {
      const SampleRows mine(args.batch, i);
      first_row = mine.first;
      first_cost = read_only(args.batch.sample_rows + sample) * args.units;
      costs = mine.count * args.units;
    }
    const double factor = 2.0 * args.loss.gradient_scale(args.scale.std_ms) /
                          (static_cast<double>(costs) * static_cast<double>(args.batch.count));
    double sum = 0.0;
    for (int k = lane_index(); k < costs; k += kWarpSize) {
      const std::int64_t at = (first_row + k / args.units) * args.stride + k % args.units;
      const float cost_ms = read_only(args.costs_ms + first_cost + k);
      const float error = args.scale.milliseconds(read_only(args.outputs + at)) - cost_ms;
      sum += args.loss(cost_ms, error);
      if (args.gradients != nullptr) {
        args.gradients[at] = static_cast<float>(factor * args.loss.slope(cost_ms, error)) * error;
      }
    }
    sum = butterfly_sum(sum);
    if (lane_index() == 0) args.losses[i] = sum / static_cast<double>(costs);
  }
}

// A thread a parameter.
__global__ void __launch_bounds__(kThreads)
    update_parameters_kernel(const training::AdamStep step, const float* gradient,
                             std::int64_t count, float* mean, float* square, float* parameters) {
  for (std::int64_t i = first_item(); i < count; i += item_stride()) {
    step.update(read_only(gradient + i), mean[i], square[i], parameters[i]);
  }
}

const float4* quads_of(const float* floats) { return reinterpret_cast<const float4*>(floats); }
float4* quads_of(float* floats) { return reinterpret_cast<float4*>(floats); }

}  // namespace

void clear_rows(float* rows, std::int64_t count, int units, cudaStream_t stream) {
  const std::int64_t floats = count * row_stride(units);
  launch(clear_rows_kernel, {blocks_for(floats), kThreads, 0}, stream, rows, floats, units,
         row_stride(units));
}

void gather_rows(const BatchView& batch, const float* inputs, const std::uint32_t* row_ids,
                 int stride, float* rows, cudaStream_t stream) {
  launch(gather_rows_kernel, {blocks_of_warps(batch), kThreads, 0}, stream, batch, quads_of(inputs),
         row_ids, stride / 4, quads_of(rows));
}

void rectify(float* rows, std::int64_t floats, cudaStream_t stream) {
  launch(rectify_kernel, {blocks_for(floats / 4), kThreads, 0}, stream, quads_of(rows), floats / 4);
}

void stop_at_zero(const float* rows, std::int64_t floats, float* gradients, cudaStream_t stream) {
  launch(stop_at_zero_kernel, {blocks_for(floats / 4), kThreads, 0}, stream, quads_of(rows),
         floats / 4, quads_of(gradients));
}

void pool_rows(const BatchView& batch, const float* rows, int units, float* sums,
               cudaStream_t stream) {
  launch(pool_rows_kernel, {blocks_for(std::int64_t{batch.count} * units), kThreads, 0}, stream,
         batch, rows, units, row_stride(units), sums);
}

void spread_gradients(const BatchView& batch, const float* rows, const float* sum_gradients,
                      int units, float* gradients, cudaStream_t stream) {
  launch(spread_gradients_kernel, {blocks_of_warps(batch), kThreads, 0}, stream, batch, rows,
         sum_gradients, units, row_stride(units), gradients);
}

void take_losses(const LossArgs& args, cudaStream_t stream) {
  launch(take_losses_kernel, {blocks_of_warps(args.batch), kThreads, 0}, stream, args);
}

void update_parameters(const training::AdamStep& step, const float* gradient, std::size_t count,
                       float* mean, float* square, float* parameters, cudaStream_t stream) {
  const auto items = static_cast<std::int64_t>(count);
  launch(update_parameters_kernel, {blocks_for(items), kThreads, 0}, stream, step, gradient, items,
         mean, square, parameters);
}

}  // namespace neuroshard::gpu
