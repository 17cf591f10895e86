#include "weights/collection/sample_draws.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

#include "neuroshard/error.h"

namespace neuroshard {

std::vector<int> dim_levels(int max_dim) {
  if (max_dim < kDimMultiple || max_dim > kMaxDim || max_dim % kDimMultiple != 0) {
    throw Error("largest dim " + std::to_string(max_dim) +
                "; give a multiple of 4 between 4 and 65536");
  }
  std::vector<int> levels{max_dim};
  while (levels.back() % (2 * kDimMultiple) == 0) levels.push_back(levels.back() / 2);
  return levels;
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

std::vector<int> draw_shard(std::span<const Table> augmented, const ComputeDrawOptions& options,
                            Random& random) {
  if (augmented.empty() || options.max_tables < 1) {
    throw Error("cannot draw shards of up to " + std::to_string(options.max_tables) +
                " tables from " + std::to_string(augmented.size()) + "; give at least one of each");
  }
  constexpr int kMaxTries = 1'000'000;
  const std::size_t count = 1 + random.below(static_cast<std::uint64_t>(options.max_tables));
  std::vector<int> ids(count);
  for (int attempt = 0; attempt < kMaxTries; ++attempt) {
    std::int64_t bytes = 0;
    for (int& id : ids) {
      id = static_cast<int>(random.below(augmented.size()));
      bytes += augmented[id].size_bytes();
    }
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
  if (!(min_per_device >= 0.0) || !(max_per_device <= kMostPerDevice)) {
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
  const auto [first_count, last_count] = tables_per_task(
      options.devices, options.min_tables_per_device, options.max_tables_per_device);
  if (options.max_start_offset_ms < 2) {
    throw Error("start offsets below " + std::to_string(options.max_start_offset_ms) +
                " ms; allow at least 2");
  }
  constexpr double kLargestScale = 1e6;
  if (!(options.start_offset_scale > 0.0) || !(options.start_offset_scale <= kLargestScale)) {
    throw Error("start offsets multiplied by " + std::to_string(options.start_offset_scale) +
                "; give a number above 0 and up to 1,000,000");
  }
  const std::vector<int> levels = dim_levels(options.max_dim);
  std::vector<int> dims(first_count + random.below(last_count - first_count));
  for (int& dim : dims) dim = levels[random.below(levels.size())];
  std::sort(dims.begin(), dims.end(), std::greater<>());

  CommDraw draw;
  draw.dim_sums.assign(options.devices, 0);
  const double disorder = random.uniform();
  for (const int dim : dims) {
    const auto device =
        random.uniform() < disorder
            ? draw.dim_sums.begin() + static_cast<std::ptrdiff_t>(random.below(options.devices))
            : std::min_element(draw.dim_sums.begin(), draw.dim_sums.end());
    *device += dim;
  }

  const std::uint64_t bound = 1 + random.below(options.max_start_offset_ms - 1);
  for (int r = 0; r < options.devices; ++r) {
    draw.start_offsets_ms.push_back(static_cast<double>(random.below(bound)));
  }
  const double first =
      *std::min_element(draw.start_offsets_ms.begin(), draw.start_offsets_ms.end());
  for (double& offset : draw.start_offsets_ms) {
    offset = (offset - first) * options.start_offset_scale;
  }
  return draw;
}

}  // namespace neuroshard
