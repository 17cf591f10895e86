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

CommDraw draw_comm(const CommDrawOptions& options, Random& random) {
  if (options.devices < 1 || options.devices > kMaxDevices || options.max_start_offset_ms < 2) {
    throw Error("communication samples for " + std::to_string(options.devices) +
                " devices with start offsets below " + std::to_string(options.max_start_offset_ms) +
                " ms; give 1 to " + std::to_string(kMaxDevices) + " devices and at least 2 ms");
  }
  const auto min_tables =
      static_cast<std::int64_t>(std::ceil(options.min_tables_per_device * options.devices));
  const auto max_tables =
      static_cast<std::int64_t>(std::floor(options.max_tables_per_device * options.devices));
  if (min_tables < 0 || max_tables <= min_tables) {
    throw Error("between " + std::to_string(min_tables) + " and " + std::to_string(max_tables) +
                " tables in a communication sample; the second must be the larger");
  }
  const std::vector<int> levels = dim_levels(options.max_dim);
  std::vector<int> dims(min_tables + random.below(max_tables - min_tables));
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
  for (double& offset : draw.start_offsets_ms) offset -= first;
  return draw;
}

}  // namespace neuroshard
