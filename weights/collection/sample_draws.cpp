#include "weights/collection/sample_draws.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <string>

#include "neuroshard/error.h"

namespace neuroshard {
namespace {

// Draws what a device of a column-split plan holds: slices of few tables, mostly of one dim.
void draw_slices(std::span<const Table> augmented, Random& random, std::vector<int>& ids) {
  constexpr double kMostTables = 17.0;
  const std::size_t levels = dim_levels(augmented.front().dim).size();
  const std::size_t tables = augmented.size() / levels;
  std::vector<std::size_t> chosen(static_cast<std::size_t>(random.log_uniform(1.0, kMostTables)));
  for (std::size_t& table : chosen) table = random.below(tables);
  const std::size_t usual_level = random.below(levels);
  const double usual_share = random.uniform();
  for (int& id : ids) {
    const std::size_t level = random.uniform() < usual_share ? usual_level : random.below(levels);
    id = static_cast<int>(level * tables + chosen[random.below(chosen.size())]);
  }
}

// As the published program does: largest first, onto a random device or the one with fewest
// columns.
std::vector<std::int64_t> draw_dim_sums(const CommDrawOptions& options, TableRange tables,
                                        Random& random) {
  const std::vector<int> levels = dim_levels(options.max_dim);
  std::vector<int> dims(tables.first + random.below(tables.last - tables.first));
  for (int& dim : dims) dim = levels[random.below(levels.size())];
  std::sort(dims.begin(), dims.end(), std::greater<>());

  std::vector<std::int64_t> dim_sums(options.devices, 0);
  const double disorder = random.uniform();
  for (const int dim : dims) {
    const auto device =
        random.uniform() < disorder
            ? dim_sums.begin() + static_cast<std::ptrdiff_t>(random.below(options.devices))
            : std::min_element(dim_sums.begin(), dim_sums.end());
    *device += dim;
  }
  return dim_sums;
}

std::vector<double> draw_offsets(const CommDrawOptions& options, Random& random) {
  const std::uint64_t bound = 1 + random.below(options.max_start_offset_ms - 1);
  std::vector<double> offsets(options.devices);
  for (double& offset : offsets) offset = static_cast<double>(random.below(bound));
  return offsets;
}

std::vector<std::int64_t> draw_wide_dim_sums(const CommDrawOptions& options, Random& random) {
  constexpr int kMostSteps = 7;  // 4 ... 256 columns.
  // Below half a step all devices are empty: nothing is exchanged, but the latency remains.
  const double typical = random.log_uniform(1.0, options.max_dim_sum);
  int step = kDimMultiple << random.below(kMostSteps);
  while (step > kDimMultiple && step > typical) step /= 2;
  const double spread = random.uniform() < 0.25 ? 0.0 : random.log_uniform(0.01, 0.5);
  const double empty_share = random.uniform() < 0.5 ? 0.0 : random.uniform();
  std::vector<std::int64_t> dim_sums(options.devices);
  for (std::int64_t& dim_sum : dim_sums) {
    const double wanted = typical * std::exp(spread * random.normal());
    const bool empty = random.uniform() < empty_share;
    dim_sum = empty ? 0 : step * std::llround(wanted / step);
  }
  if (random.uniform() < 0.25) {
    std::int64_t& one = dim_sums[random.below(dim_sums.size())];
    one =
        kDimMultiple *
        (1 + std::llround(static_cast<double>(one) / kDimMultiple * random.log_uniform(1.0, 4.0)));
  }
  return dim_sums;
}

std::vector<double> draw_wide_offsets(const CommDrawOptions& options, Random& random) {
  const double bound =
      random.uniform() < 0.1 ? 0.0 : options.max_start_offset_ms * random.log_uniform(0.001, 1.0);
  const double power = random.log_uniform(1.0 / 16.0, 16.0);
  std::vector<double> offsets(options.devices);
  for (double& offset : offsets) offset = bound * std::pow(random.uniform(), power);
  return offsets;
}

}  // namespace

std::vector<int> dim_levels(int max_dim) {
  if (max_dim < kDimMultiple || max_dim > kMaxDim || max_dim % kDimMultiple != 0) {
    throw Error("largest dim " + std::to_string(max_dim) +
                "; give a multiple of 4 between 4 and 65536");
  }
  std::vector<int> levels{max_dim};
  while (levels.back() % (2 * kDimMultiple) == 0) levels.push_back(levels.back() / 2);
  return levels;
}

int draw_dim(Random& random) {
  constexpr std::array kDims = {4, 8, 16, 32, 64, 128, 256};
  constexpr std::array kOtherDims = {20, 36, 48, 72, 100, 144, 200};
  return random.below(8) == 0 ? kOtherDims[random.below(kOtherDims.size())]
                              : kDims[random.below(kDims.size())];
}

std::vector<Table> augment_dims(std::span<const Table> tables, int max_dim) {
  std::vector<Table> augmented;
  for (const int dim : dim_levels(max_dim)) {
    for (const Table& table : tables) {
      augmented.push_back(table);
      augmented.back().dim = dim;
    }
  }
  return augmented;
}

std::int64_t draw_served_samples(ComputeDrawOptions::Samples samples, Random& random) {
  using Samples = ComputeDrawOptions::Samples;
  constexpr double kUsual = 1.0 / 3.0;
  constexpr int kHalfOctaves = 24;  // From 1,024 to 4,194,304.
  constexpr int kMostDeviceOctaves = 10;
  if (samples == Samples::kOfBatch) return kDefaultBatchSize;
  std::int64_t iteration = kDefaultBatchSize;
  if (random.uniform() >= kUsual) {
    const auto halves = static_cast<double>(random.below(kHalfOctaves + 1));
    iteration = std::llround(1024.0 * std::exp2(halves / 2.0));
  }
  if (samples == Samples::kIterations) return iteration;
  const std::int64_t devices = std::int64_t{2} << random.below(kMostDeviceOctaves);
  return std::max<std::int64_t>(1, iteration / devices);
}

std::vector<Table> draw_row_blocks(std::span<const Table> tables, Random& random) {
  constexpr double kMostBlocks = 1024.0;
  std::vector<Table> blocks(tables.begin(), tables.end());
  for (Table& table : blocks) {
    const double count = std::min(std::floor(random.log_uniform(2.0, kMostBlocks + 1.0)),
                                  static_cast<double>(table.rows));
    table.rows = static_cast<std::int64_t>(static_cast<double>(table.rows) / count);
    table.pooling_factor /= count;
  }
  return blocks;
}

std::vector<Table> draw_table_kinds(std::span<const Table> tables, Random& random) {
  constexpr double kLongest = 32.0;  // Sequences have more lookups than bags.
  constexpr Pooling kPoolings[] = {Pooling::kSum, Pooling::kMean, Pooling::kNone};
  const auto any_of = [&](const auto& all) { return all[random.below(std::size(all))]; };
  std::vector<Table> drawn(tables.begin(), tables.end());
  for (Table& table : drawn) {
    if (random.uniform() < 0.5) continue;
    table.memory.optimizer = any_of(all_optimizers());
    table.memory.weight_type = any_of(all_weight_types());
    table.pooling = any_of(kPoolings);
    table.weighted = table.pooling != Pooling::kNone && random.uniform() < 0.5;
    if (table.pooling == Pooling::kNone) table.pooling_factor *= random.log_uniform(1.0, kLongest);
  }
  return drawn;
}

std::vector<int> draw_shard(std::span<const Table> augmented, const ComputeDrawOptions& options,
                            Random& random) {
  if (augmented.empty() || options.max_tables < 1) {
    throw Error("cannot draw shards of up to " + std::to_string(options.max_tables) +
                " tables from " + std::to_string(augmented.size()) + "; give at least one of each");
  }
  constexpr int kMaxTries = 1'000'000;
  const std::size_t count =
      options.slices ? static_cast<std::size_t>(random.log_uniform(1.0, options.max_tables + 1.0))
                     : 1 + random.below(static_cast<std::uint64_t>(options.max_tables));
  std::vector<int> ids(count);
  for (int attempt = 0; attempt < kMaxTries; ++attempt) {
    if (options.slices) {
      draw_slices(augmented, random, ids);
    } else {
      for (int& id : ids) id = static_cast<int>(random.below(augmented.size()));
    }
    std::int64_t bytes = 0;
    for (const int id : ids) bytes += augmented[id].size_bytes();
    if (bytes <= options.memory_bytes) return ids;
  }
  throw Error("in " + std::to_string(kMaxTries) + " draws no " + std::to_string(count) +
              " tables fitted in " + std::to_string(options.memory_bytes) +
              " bytes; give more memory or fewer tables per shard");
}

TableRange tables_per_task(int devices, double min_per_device, double max_per_device) {
  if (devices < 1 || devices > kMaxDevices) {
    throw Error(std::to_string(devices) + " devices; give between 1 and " +
                std::to_string(kMaxDevices));
  }
  constexpr double kMostPerDevice = 1e5;
  if (!(min_per_device >= 0.0 && min_per_device <= kMostPerDevice) ||
      !(max_per_device <= kMostPerDevice)) {
    throw Error("tables per device from " + std::to_string(min_per_device) + " to " +
                std::to_string(max_per_device) + "; give numbers from 0 to 100,000");
  }
  const TableRange range{static_cast<std::int64_t>(std::ceil(min_per_device * devices)),
                         static_cast<std::int64_t>(std::floor(max_per_device * devices))};
  if (range.last <= range.first) {
    throw Error("from " + std::to_string(range.first) + " to below " + std::to_string(range.last) +
                " tables for " + std::to_string(devices) +
                " devices; the second number of tables per device must be the larger");
  }
  return range;
}

CommDraw draw_comm(const CommDrawOptions& options, Random& random) {
  const TableRange tables = tables_per_task(options.devices, options.min_tables_per_device,
                                            options.max_tables_per_device);
  if (options.max_start_offset_ms < 2) {
    throw Error("start offsets below " + std::to_string(options.max_start_offset_ms) +
                " ms; allow at least 2");
  }
  constexpr double kLargestScale = 1e6;
  constexpr int kLargestDimSum = 1 << 20;
  if (!(options.start_offset_scale > 0.0) || !(options.start_offset_scale <= kLargestScale)) {
    throw Error("start offsets multiplied by " + std::to_string(options.start_offset_scale) +
                "; give a number above 0 and up to 1,000,000");
  }
  if (options.max_dim_sum < kDimMultiple || options.max_dim_sum > kLargestDimSum) {
    throw Error("dim sums up to " + std::to_string(options.max_dim_sum) +
                "; give a number from 4 to 1,048,576");
  }
  CommDraw draw;
  if (options.wide) {
    draw = {draw_wide_dim_sums(options, random), draw_wide_offsets(options, random)};
  } else {
    draw = {draw_dim_sums(options, tables, random), draw_offsets(options, random)};
  }
  const double first =
      *std::min_element(draw.start_offsets_ms.begin(), draw.start_offsets_ms.end());
  for (double& offset : draw.start_offsets_ms) {
    offset = (offset - first) * options.start_offset_scale;
  }
  return draw;
}

std::int64_t draw_collective_bytes(std::int64_t most_bytes, Random& random) {
  constexpr double kLeastBytes = 1024.0;
  constexpr auto kBytes = std::int64_t{sizeof(float)};
  const double drawn = random.log_uniform(kLeastBytes, static_cast<double>(most_bytes));
  return std::llround(drawn / static_cast<double>(kBytes)) * kBytes;
}

}  // namespace neuroshard
