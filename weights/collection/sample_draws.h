#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/random.h"
#include "neuroshard/task.h"

namespace neuroshard {

/// `max_dim`, and its halves down to the last multiple of 4: 128, 64, 32, 16, 8, 4.
/// Throws Error unless `max_dim` is a multiple of 4 in [4, kMaxDim].
[[nodiscard]] std::vector<int> dim_levels(int max_dim);

/// Every table at every dim of `dim_levels(max_dim)`, largest dim first, as the published data
/// numbers them: id = level * tables.size() + table.
[[nodiscard]] std::vector<Table> augment_dims(std::span<const Table> tables, int max_dim = 128);

/// 4 to 256; one in eight is no power of two.
[[nodiscard]] int draw_dim(Random& random);

struct ComputeDrawOptions {
  int max_tables = 15;
  std::int64_t memory_bytes = std::int64_t{4} << 30;
  /// Draw what devices of column-split plans hold: one slice or hundreds, of few tables, mostly of
  /// one dim.
  bool slices = false;
  /// Draw the samples that the operator serves: of an iteration, or a device's part of them.
  enum class Samples { kOfBatch, kIterations, kShares } samples = Samples::kOfBatch;
};

/// Samples that an operator serves. kIterations: kDefaultBatchSize in a third of the draws, else
/// 1,024 to 4,194,304 in half octaves. kShares: such an iteration's share of one of 2 to 1,024
/// devices. kOfBatch: no draw, kDefaultBatchSize.
[[nodiscard]] std::int64_t draw_served_samples(ComputeDrawOptions::Samples samples, Random& random);

/// A block of each table's rows that has its share of the lookups: one of 2 to 1,024 blocks, their
/// number log-uniform, or as many as the table has rows.
[[nodiscard]] std::vector<Table> draw_row_blocks(std::span<const Table> tables, Random& random);

/// Draws half of the tables as fp32 sums with SGD. Each other one has any type of weights,
/// optimizer and pooling, and may have weights of lookups. Unpooled tables have up to 32 times as
/// many lookups.
[[nodiscard]] std::vector<Table> draw_table_kinds(std::span<const Table> tables, Random& random);

/// Draws the tables of one compute sample as the published program does: their number uniform in
/// 1 ... max_tables, ids uniform (with replacement), drawn anew until they fit in memory.
/// `slices`: the number is log-uniform in 1 ... max_tables; the slices are of 1 to 16 tables, and a
/// share of them that is itself drawn has one dim. `augmented` is from augment_dims.
/// Throws Error if they practically never fit.
[[nodiscard]] std::vector<int> draw_shard(std::span<const Table> augmented,
                                          const ComputeDrawOptions& options, Random& random);

/// [first, last) of the tables of a sample or task for `devices` devices: `min` and `max` times as
/// many. Throws Error if there is none, or on an impossible number of devices.
struct TableRange {
  std::int64_t first = 0;
  std::int64_t last = 0;
};
[[nodiscard]] TableRange tables_per_task(int devices, double min_per_device, double max_per_device);

struct CommDrawOptions {
  int devices = 4;
  int max_dim = 128;
  /// Tables of a sample: uniform in [min, max) times devices.
  double min_tables_per_device = 2.5;
  double max_tables_per_device = 15.0;
  /// Start offsets are whole milliseconds below this.
  int max_start_offset_ms = 20;
  /// Multiplies the start offsets: well balanced plans have offsets below a millisecond.
  double start_offset_scale = 1.0;
  /// Draw placements of every kind instead; max_dim and the tables per device play no role then.
  bool wide = false;
  /// For wide draws: the largest of their typical dim sums.
  int max_dim_sum = 8192;
};

struct CommDraw {
  std::vector<std::int64_t> dim_sums;
  std::vector<double> start_offsets_ms;  ///< The smallest is 0.
};

/// Draws one communication sample as the published program does: table dims from dim_levels,
/// largest first; each goes to a random device with a probability that is itself drawn, else to the
/// device with the smallest dim sum. Offsets are uniform below a bound drawn from 1 ...
/// max_start_offset_ms
/// - 1.
///
/// `wide`: the typical dim sum of a sample is log-uniform up to max_dim_sum, so a few columns a
/// device are as frequent as thousands; dim sums are equal, nearly so or far apart, in steps of 4
/// to 256 columns, with or without empty devices and one device that holds several times as much.
/// Offsets are below a bound that is log-uniform from 1/1000 of max_start_offset_ms, gathered near
/// 0, near the bound or spread evenly; or all 0.
[[nodiscard]] CommDraw draw_comm(const CommDrawOptions& options, Random& random);

/// Bytes of the gradients of replicas: log-uniform from 1 KiB to `most_bytes`, whole fp32 numbers.
[[nodiscard]] std::int64_t draw_collective_bytes(std::int64_t most_bytes, Random& random);

}  // namespace neuroshard
