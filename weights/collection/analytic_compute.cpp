#include "weights/collection/analytic_compute.h"

#include <algorithm>

#include "core/tables/access_statistics.h"
#include "core/tables/kernel_rates.h"
#include "core/tables/lookup_sort.h"
#include "core/tables/row_traffic.h"

namespace neuroshard {
namespace {

// Assumptions that no datasheet gives; docs/analytic_costs.md discusses them.
constexpr double kUsableL2 = 0.8;  // The rest holds what only streams through.

// Reads of weight rows that reach memory: the first touch of each, and all touches of rows that
// do not fit in the cache beside the hotter ones. Tables run one after another, so each has the
// cache to itself.
double row_reads_from_memory(const AccessProfile& profile, double cached_rows) {
  double reads = 0.0;
  for (int bin = kHistogramBins - 1; bin >= 0; --bin) {
    const double cached = std::min(profile.rows[bin], cached_rows);
    cached_rows -= cached;
    reads += cached + (profile.rows[bin] - cached) * profile.touches[bin];
  }
  return reads;
}

struct Traffic {
  double memory_bytes = 0.0;
  double l2_bytes = 0.0;

  void both(double bytes) {
    memory_bytes += bytes;
    l2_bytes += bytes;
  }
  [[nodiscard]] double milliseconds(const GpuSpec& gpu) const {
    const double memory_s = memory_bytes / (gpu.hbm_gb_per_s * kGatherRate * 1e9);
    const double l2_s = l2_bytes / (gpu.l2_gb_per_s * kGatherRate * 1e9);
    return 1e3 * std::max(memory_s, l2_s);
  }
};

}  // namespace

AnalyticCompute analytic_compute(const GpuSpec& gpu, std::span<const Table> tables,
                                 double samples) {
  AnalyticCompute cost;
  if (tables.empty()) return cost;

  const double cache_bytes = kUsableL2 * gpu.l2_bytes;
  Traffic forward;
  Traffic weight_gradients;
  Traffic update;
  double divided_bytes = 0.0;  // Gradients of means, which are divided by their lookups.
  double lookups = 0.0;
  double weighted_lookups = 0.0;
  double rows = 0.0;
  for (const Table& table : tables) {
    const AccessProfile profile = access_profile(table, samples);
    const double bytes = moved_weight_row_bytes(table.memory.weight_type, table.dim);
    const double gradient_bytes = moved_fp32_row_bytes(table.dim);
    const double bags = samples * table.features;
    const double outputs = samples * outputs_per_sample(table);
    lookups += profile.lookups;
    rows += static_cast<double>(table.rows);

    const auto look_up = [&](Traffic& traffic) {
      traffic.both(profile.lookups * kIndexBytes + bags * kIndexBytes);
      traffic.both(outputs * fp32_row_bytes(table.dim));
      traffic.memory_bytes += bytes * row_reads_from_memory(profile, cache_bytes / bytes);
      traffic.l2_bytes += bytes * profile.lookups;
      if (table.weighted) traffic.both(profile.lookups * kLookupWeightBytes);
    };
    look_up(forward);
    if (table.weighted) {
      // A product of a row and an output's gradient for each lookup: that is read where an output
      // is written, and a gradient written where a weight is read.
      look_up(weight_gradients);
      weighted_lookups += profile.lookups;
      update.both(profile.lookups * kLookupWeightBytes);
    }
    if (table.pooling == Pooling::kMean) {
      divided_bytes += 2.0 * outputs * fp32_row_bytes(table.dim);
    }

    // Gradients of outputs, read in the order of rows: once from memory, again if they do not
    // fit; then each touched row, and what the optimizer keeps of it, is read and written.
    const double gradients = std::min(outputs, profile.lookups);
    const double kept = std::min(1.0, cache_bytes / (outputs * gradient_bytes));
    update.both(profile.lookups * kSortedBytes);
    update.memory_bytes +=
        gradient_bytes * (gradients + (profile.lookups - gradients) * (1.0 - kept));
    update.l2_bytes += gradient_bytes * profile.lookups;
    const double state_bytes = moved_state_row_bytes(table.memory.optimizer, table.dim);
    update.both(2.0 * (bytes + state_bytes) * profile.distinct_rows);
  }

  const LookupSort sort = lookup_sort(lookups, rows);
  cost.forward_ms = forward.milliseconds(gpu);
  cost.sort_ms = sort.copied_bytes / (gpu.hbm_gb_per_s * kCopyRate * 1e6);
  cost.update_ms = update.milliseconds(gpu);
  cost.forward_launch_ms = kLaunchMs;
  cost.launch_ms = kLaunchMs * (1.0 + sort.launches);
  if (divided_bytes > 0.0) {
    cost.update_ms += divided_bytes / (gpu.hbm_gb_per_s * kCopyRate * 1e6);
    cost.launch_ms += kLaunchMs;
  }
  if (weighted_lookups > 0.0) {
    const LookupSort beside = weight_sort(weighted_lookups, rows);
    cost.sort_ms += beside.copied_bytes / (gpu.hbm_gb_per_s * kCopyRate * 1e6);
    cost.update_ms += weight_gradients.milliseconds(gpu);
    cost.launch_ms += kLaunchMs * (1.0 + beside.launches);
  }
  return cost;
}

}  // namespace neuroshard
