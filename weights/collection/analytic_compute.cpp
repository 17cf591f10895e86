#include "weights/collection/analytic_compute.h"

#include <algorithm>

#include "core/tables/access_statistics.h"
#include "core/tables/table_work.h"

namespace neuroshard {
namespace {

// Nanoseconds on the H100 that the terms were fitted on.
constexpr double kFittedMultiprocessors = 132.0;
constexpr double kFittedGhz = 1.98;
constexpr double kFittedGbPerSecond = 3350.0;

constexpr double kCachedShare = 0.5;  // The rest of the L2 holds what streams through.

// Reads of rows that reach memory: the first of each, and all of rows that do not fit in the cache
// beside the hotter ones. Tables run one after another, so each has the cache to itself.
double rows_from_memory(const AccessProfile& profile, double cached_rows) {
  double reads = 0.0;
  for (int bin = kHistogramBins - 1; bin >= 0; --bin) {
    const double cached = std::min(profile.rows[bin], cached_rows);
    cached_rows -= cached;
    reads += cached + (profile.rows[bin] - cached) * profile.touches[bin];
  }
  return reads;
}

/// Nanoseconds: launches, which take as long on any GPU, instructions, and KiB of memory.
struct Nanoseconds {
  double fixed = 0.0;
  double instructions = 0.0;
  double memory = 0.0;

  [[nodiscard]] double milliseconds(const GpuSpec& gpu) const {
    const double speed =
        gpu.multiprocessors * gpu.clock_ghz / (kFittedMultiprocessors * kFittedGhz);
    const double rate = gpu.hbm_gb_per_s / kFittedGbPerSecond;
    return 1e-6 * (fixed + instructions / speed + memory / rate);
  }
};

double kib(double bytes) { return bytes / 1024.0; }

}  // namespace

AnalyticCompute analytic_compute(const GpuSpec& gpu, std::span<const Table> tables,
                                 double samples) {
  if (tables.empty()) return {};
  // All rows have the threads of the widest.
  const int widest = std::ranges::max_element(tables, {}, &Table::dim)->dim;
  const double share = warp_share(widest);
  const double row_work = warp_work(widest);
  const double cache_bytes = kCachedShare * gpu.l2_bytes;
  double rows = 0.0;
  for (const Table& table : tables) rows += static_cast<double>(table.rows);
  const double passes = sort_passes(rows);

  Nanoseconds forward{.fixed = 12'700.0};
  Nanoseconds backward{.fixed = 78'500.0};
  double longest_bag = 0.0;
  double frequent_rows = 0.0;
  bool any_mean = false;
  bool any_weighted = false;
  for (const Table& table : tables) {
    const AccessProfile profile = access_profile(table, samples);
    const TableWork work = table_work(table, profile, samples, table.dim);
    const double misses = rows_from_memory(profile, cache_bytes / work.weight_bytes);
    longest_bag = std::max(longest_bag, work.lookups / work.bags);
    frequent_rows += work.frequent_rows;

    forward.instructions += work.bags * (0.255 + 0.121 * share);
    forward.instructions += work.lookups * (0.0107 + 0.0164 * row_work);
    forward.instructions += 0.0225 * misses;
    forward.memory += 0.326 * kib(misses * work.weight_bytes) + 0.24 * kib(work.output_bytes);
    if (is_narrow_sequence(table, table.dim)) {
      forward.instructions += 0.114 * work.lookups * narrow_row_work(table.dim) + 0.5 * work.bags;
    }

    // Gradients of outputs are read in the order of rows: once from memory, again if they do not
    // fit.
    const double gradients = std::min(work.outputs, work.lookups);
    const double all_gradient_bytes = work.outputs * work.gradient_bytes;
    const double kept = all_gradient_bytes > cache_bytes ? cache_bytes / all_gradient_bytes : 1.0;
    const double gradient_reads = gradients + (work.lookups - gradients) * (1.0 - kept);
    const double row_bytes = work.weight_bytes + work.state_bytes;
    backward.instructions += 0.059 * work.bags;
    backward.instructions += work.lookups * (0.0294 + 0.0363 * row_work + 0.0131 * passes);
    backward.instructions += work.rows * (0.0477 + 0.361 * share);
    backward.instructions += 28.9 * work.frequent_rows * share;
    if (has_two_moments(table.memory.optimizer)) backward.instructions += 1.1 * work.rows;
    backward.memory += 0.225 * kib(gradient_reads * work.gradient_bytes);
    backward.memory += 0.27 * kib(2.0 * work.rows * row_bytes);  // Read and written.
    if (table.pooling == Pooling::kMean) {
      any_mean = true;
      backward.memory += 0.4 * kib(2.0 * work.output_bytes);  // Gradients are divided.
    }
    if (table.weighted) {
      any_weighted = true;
      forward.instructions += 0.0076 * work.lookups;
      // A product of a row and an output's gradient for each lookup.
      backward.instructions += 0.365 * work.bags + work.lookups * (0.109 + 0.0496 * row_work);
    }
  }
  forward.instructions += 107.0 * longest_bag;
  backward.fixed += 36'000.0 * std::min(frequent_rows, 1.0);
  if (any_mean) backward.fixed += 38'000.0;
  if (any_weighted) backward.fixed += 36'000.0;
  return {.forward_ms = forward.milliseconds(gpu), .backward_ms = backward.milliseconds(gpu)};
}

}  // namespace neuroshard
