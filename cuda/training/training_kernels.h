#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "weights/training/adam.h"
#include "weights/training/feature_statistics.h"
#include "weights/training/loss.h"

namespace neuroshard::gpu {

// Kernels of a training step besides products of matrices. Rows of activations have a one behind
// their last unit, which meets the biases in products, and zeros up to row_stride(units) floats.

/// Floats from row to row: whole float4s.
[[nodiscard]] constexpr int row_stride(int units) { return (units + 4) / 4 * 4; }

/// Samples of a step or an evaluation, in device memory.
struct BatchView {
  const std::uint32_t* samples = nullptr;     ///< [count] numbers in the data set.
  const std::int64_t* first_rows = nullptr;   ///< [count + 1]; minus the first: rows of the batch.
  const std::int64_t* sample_rows = nullptr;  ///< [samples of the data set + 1] rows of the set.
  int count = 0;
};

/// rows [rows, row_stride(units)] = 0, with ones behind the units.
void clear_rows(float* rows, std::int64_t count, int units, cudaStream_t stream);

/// rows [rows of the batch, stride] = those of `inputs` [any, stride] that `row_ids` names for each
/// row of the data set; null: each its own. stride: a multiple of 4.
void gather_rows(const BatchView& batch, const float* inputs, const std::uint32_t* row_ids,
                 int stride, float* rows, cudaStream_t stream);

/// rows = max(rows, 0), `floats` of them, a multiple of 4. Leaves the ones alone.
void rectify(float* rows, std::int64_t floats, cudaStream_t stream);

/// gradients = 0 where rows, after their ReLU, are not above 0. `floats`: a multiple of 4.
void stop_at_zero(const float* rows, std::int64_t floats, float* gradients, cudaStream_t stream);

/// sums [count, row_stride(units)]: of max(rows, 0) over the rows of each sample, in their order.
void pool_rows(const BatchView& batch, const float* rows, int units, float* sums,
               cudaStream_t stream);

/// The other way: each row's gradient is that of its sample's sum, or 0 where the row is not above
/// 0.
void spread_gradients(const BatchView& batch, const float* rows, const float* sum_gradients,
                      int units, float* gradients, cudaStream_t stream);

struct LossArgs {
  BatchView batch;
  const float* outputs = nullptr;  ///< [rows, stride]
  int stride = 0;
  int units = 0;        ///< Outputs of a row.
  bool pooled = false;  ///< A sample has one row and one cost, whatever its rows were before.
  const float* costs_ms = nullptr;  ///< [samples], or [rows of the data set, units].
  training::CostScale scale;
  training::CostLoss loss;
  double* losses = nullptr;  ///< [count], the mean over the costs of a sample.
  float* gradients =
      nullptr;  ///< Gradients of the batch's mean loss by outputs, [rows, stride]; may be null.
};
void take_losses(const LossArgs& args, cudaStream_t stream);

/// One step of Adam. All arrays are [count].
void update_parameters(const training::AdamStep& step, const float* gradient, std::size_t count,
                       float* mean, float* square, float* parameters, cudaStream_t stream);

}  // namespace neuroshard::gpu
