#include "weights/collection/analytic_compute.h"

#include <algorithm>
#include <cmath>

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

// A row more in the cache saves so much of that.
double touches_saved(const AccessProfile& profile, double cached_rows) {
  for (int bin = kHistogramBins - 1; bin >= 0; --bin) {
    if (cached_rows < profile.rows[bin]) return profile.touches[bin] - 1.0;
    cached_rows -= profile.rows[bin];
  }
  return 0.0;
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
  Nanoseconds& operator+=(const Nanoseconds& more) {
    fixed += more.fixed;
    instructions += more.instructions;
    memory += more.memory;
    return *this;
  }
};

double kib(double bytes) { return bytes / 1024.0; }

/// A table as its operator sees it.
struct LookedUp {
  const Table& table;
  AccessProfile profile;
  TableWork work;
  double misses;

  LookedUp(const GpuSpec& gpu, const Table& of, double samples)
      : table(of),
        profile(access_profile(of, samples)),
        work(table_work(of, profile, samples, of.dim)),
        misses(rows_from_memory(profile, kCachedShare * gpu.l2_bytes / work.weight_bytes)) {}
};

struct Passes {
  Nanoseconds forward;
  Nanoseconds backward;

  [[nodiscard]] AnalyticCompute on(const GpuSpec& gpu) const {
    return {.forward_ms = forward.milliseconds(gpu), .backward_ms = backward.milliseconds(gpu)};
  }
};

constexpr Nanoseconds kAnyFrequent{.fixed = 36'000.0};
constexpr Passes kFixedPasses{.forward = {.fixed = 12'700.0}, .backward = {.fixed = 78'500.0}};

/// Adds what each table has, but for the sort of its lookups.
void add_table(const GpuSpec& gpu, const LookedUp& looked_up, int widest, Passes& passes) {
  const auto& [table, profile, work, misses] = looked_up;
  auto& [forward, backward] = passes;
  // All rows have the threads of the widest.
  const double share = warp_share(widest);
  const double row_work = warp_work(widest);

  forward.instructions += work.bags * (0.255 + 0.121 * share);
  forward.instructions += work.lookups * (0.0107 + 0.0164 * row_work);
  forward.instructions += 0.0225 * misses;
  forward.memory += 0.326 * kib(misses * work.weight_bytes) + 0.24 * kib(work.output_bytes);
  if (is_narrow_sequence(table, table.dim)) {
    forward.instructions += 0.114 * work.lookups * narrow_row_work(table.dim) + 0.5 * work.bags;
  }

  // Gradients of outputs are read in the order of rows: once from memory, again if they do not
  // fit.
  const double cache_bytes = kCachedShare * gpu.l2_bytes;
  const double gradients = std::min(work.outputs, work.lookups);
  const double all_gradient_bytes = work.outputs * work.gradient_bytes;
  const double kept = all_gradient_bytes > cache_bytes ? cache_bytes / all_gradient_bytes : 1.0;
  const double gradient_reads = gradients + (work.lookups - gradients) * (1.0 - kept);
  const double row_bytes = work.weight_bytes + work.state_bytes;
  backward.instructions += 0.059 * work.bags;
  backward.instructions += work.lookups * (0.0294 + 0.0363 * row_work);
  backward.instructions += work.rows * (0.0477 + 0.361 * share);
  backward.instructions += 28.9 * work.frequent_rows * share;
  if (has_two_moments(table.memory.optimizer)) backward.instructions += 1.1 * work.rows;
  backward.memory += 0.225 * kib(gradient_reads * work.gradient_bytes);
  backward.memory += 0.27 * kib(2.0 * work.rows * row_bytes);  // Read and written.
  if (table.pooling == Pooling::kMean) {
    backward.memory += 0.4 * kib(2.0 * work.output_bytes);  // Gradients are divided.
  }
  if (table.weighted) {
    forward.instructions += 0.0076 * work.lookups;
    // A product of a row and an output's gradient for each lookup.
    backward.instructions += 0.365 * work.bags + work.lookups * (0.109 + 0.0496 * row_work);
  }
}

/// `rows`: of all tables of the operator.
Nanoseconds sort_of(double lookups, double rows) {
  return {.instructions = lookups * 0.0131 * sort_passes(rows)};
}

/// An operator has this once, whichever of its tables it has it for.
struct Once {
  double longest_bag = 0.0;
  double frequent_rows = 0.0;
  bool any_mean = false;
  bool any_weighted = false;

  void see(const LookedUp& looked_up) {
    const auto& [table, profile, work, misses] = looked_up;
    longest_bag = std::max(longest_bag, work.lookups / work.bags);
    frequent_rows += work.frequent_rows;
    any_mean |= table.pooling == Pooling::kMean;
    any_weighted |= table.weighted;
  }
  void add_to(Passes& passes) const {
    passes.forward.instructions += 107.0 * longest_bag;
    passes.backward.fixed += kAnyFrequent.fixed * std::min(frequent_rows, 1.0);
    if (any_mean) passes.backward.fixed += 38'000.0;
    if (any_weighted) passes.backward.fixed += 36'000.0;
  }
};

OperatorPart part_of(const GpuSpec& gpu, const LookedUp& looked_up, int widest) {
  Passes added;
  add_table(gpu, looked_up, std::max(widest, looked_up.table.dim), added);
  Once of_table;
  of_table.see(looked_up);
  Passes once;
  of_table.add_to(once);
  return {.added_ms = added.on(gpu).total_ms(),
          .ms_per_bit = sort_of(looked_up.work.lookups, 2.0).milliseconds(gpu),
          .once_ms = once.on(gpu).total_ms()};
}

}  // namespace

AnalyticCompute analytic_compute(const GpuSpec& gpu, std::span<const Table> tables,
                                 double samples) {
  if (tables.empty()) return {};
  const int widest = std::ranges::max_element(tables, {}, &Table::dim)->dim;
  double rows = 0.0;
  for (const Table& table : tables) rows += static_cast<double>(table.rows);
  Passes passes = kFixedPasses;
  Once once;
  for (const Table& table : tables) {
    const LookedUp looked_up(gpu, table, samples);
    add_table(gpu, looked_up, widest, passes);
    passes.backward += sort_of(looked_up.work.lookups, rows);
    once.see(looked_up);
  }
  once.add_to(passes);
  return passes.on(gpu);
}

double operator_fixed_ms(const GpuSpec& gpu) { return kFixedPasses.on(gpu).total_ms(); }

OperatorPart operator_part(const GpuSpec& gpu, const Table& table, int widest, double samples) {
  return part_of(gpu, LookedUp(gpu, table, samples), widest);
}

BlocksPart blocks_part(const GpuSpec& gpu, Table table, int widest, double samples, bool even,
                       double blocks) {
  table.pooling = table.pooling == Pooling::kMean ? Pooling::kSum : table.pooling;
  LookedUp all(gpu, table, samples);
  table.pooling_factor = 0.0;
  LookedUp bags(gpu, table, samples);
  const double bags_ms = part_of(gpu, bags, widest).added_ms;
  // Each block has the cache to itself: together they miss as often as a table with all caches.
  double misses_of_cache = 0.0;
  all.misses = all.profile.distinct_rows;
  if (!even) {
    all.misses = all.work.rows = all.work.frequent_rows = 0.0;
  } else if (std::isfinite(blocks)) {
    const double cached = kCachedShare * gpu.l2_bytes / all.work.weight_bytes;
    misses_of_cache = cached * touches_saved(all.profile, blocks * cached);
    all.misses = rows_from_memory(all.profile, blocks * cached) + blocks * misses_of_cache;
  }
  OperatorPart lookups = part_of(gpu, all, widest);
  lookups.added_ms -= bags_ms;
  const double once_ms = part_of(gpu, bags, widest).once_ms;
  const double frequent_rows = all.work.frequent_rows > 1.0 ? all.work.frequent_rows : 0.0;
  lookups.once_ms = once_ms;
  if (frequent_rows > 0.0) lookups.once_ms += kAnyFrequent.milliseconds(gpu);
  bags.misses = misses_of_cache;
  return {.lookups = lookups,
          .each_ms = 2.0 * bags_ms - part_of(gpu, bags, widest).added_ms,
          .each_once_ms = once_ms,
          .frequent_rows = frequent_rows};
}

}  // namespace neuroshard
