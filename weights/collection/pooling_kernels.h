#pragma once

#include <cstdint>
#include <string_view>

namespace neuroshard {

/// One lookup, for grouping by row.
struct Lookup {
  std::uint32_t row;
  std::uint32_t sample;
};

/// Inner loops of the CPU operator, one table of functions per instruction set. Each element of a
/// sum is added up in the order of the lookups, so all agree bit for bit.
struct PoolingKernels {
  std::string_view name;
  bool (*supported)();

  /// out[0 .. dim) = sum of the rows `indices[0 .. count)` of `weights` [rows, dim].
  void (*sum_rows)(const float* weights, const std::int64_t* indices, std::int64_t count, int dim,
                   float* out);

  /// row[0 .. dim) -= learning_rate * sum of the gradients of the lookups' samples, which lie
  /// `stride` floats apart. The lookups are of one row.
  void (*update_row)(const float* gradients, std::int64_t stride, const Lookup* lookups,
                     std::int64_t count, int dim, float learning_rate, float* row);
};

extern const PoolingKernels kScalarPooling;
#ifdef NEUROSHARD_HAS_AVX2
extern const PoolingKernels kAvx2Pooling;
#endif

/// The best that this CPU runs.
[[nodiscard]] const PoolingKernels& pooling_kernels();

}  // namespace neuroshard
