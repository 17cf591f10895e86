#pragma once

#include <cstdint>
#include <span>

#include "neuroshard/hardware.h"
#include "neuroshard/task.h"

namespace neuroshard {

/// Parts of the analytic cost of one training iteration, milliseconds.
struct AnalyticCompute {
  double forward_ms = 0.0;
  double sort_ms = 0.0;  ///< Grouping of the lookups by row.
  /// Sum of the gradients of each row, and the optimizer; gradients of lookups' weights, and those
  /// of means that are divided.
  double update_ms = 0.0;
  double launch_ms = 0.0;          ///< All kernels.
  double forward_launch_ms = 0.0;  ///< Part of launch_ms.

  [[nodiscard]] double total_ms() const { return forward_ms + sort_ms + update_ms + launch_ms; }
  /// The rest of total_ms() is the backward pass's.
  [[nodiscard]] double forward_pass_ms() const { return forward_ms + forward_launch_ms; }
};

/// Forward + backward + update of the fused embedding-bag operator over the tables of one device
/// (the tables' types of weights, optimizers and pooling, fp32 outputs and gradients, 64-bit
/// indices, cold caches), as a roofline of memory and L2 traffic beside a sort. `samples`,
/// which the tables' histograms are for, need not be whole: the mean share of a device. No tables:
/// all zero. docs/analytic_costs.md derives each term. Not a measurement.
[[nodiscard]] AnalyticCompute analytic_compute(const GpuSpec& gpu, std::span<const Table> tables,
                                               double samples = kDefaultBatchSize);

}  // namespace neuroshard
