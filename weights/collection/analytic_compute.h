#pragma once

#include <span>

#include "neuroshard/hardware.h"
#include "neuroshard/task.h"

namespace neuroshard {

/// Analytic cost of one training iteration, milliseconds.
struct AnalyticCompute {
  double forward_ms = 0.0;
  double backward_ms = 0.0;  ///< And update.

  [[nodiscard]] double total_ms() const { return forward_ms + backward_ms; }
};

/// Forward + backward + update of the fused embedding-bag operator over the tables of one device:
/// the tables' types of weights, optimizers and pooling, fp32 outputs and gradients, 64-bit
/// indices, checked bounds, cold caches. `samples`, which the tables' histograms are for, need not
/// be whole: the mean share of a device. No tables: all zero. A sum of terms that is fitted to
/// FBGEMM's operator on H100 and H200: docs/analytic_costs.md, "Compute cost of a shard". For other
/// GPUs instructions scale with multiprocessors and clock, bytes with the memory's rate.
[[nodiscard]] AnalyticCompute analytic_compute(const GpuSpec& gpu, std::span<const Table> tables,
                                               double samples = kDefaultBatchSize);

}  // namespace neuroshard
