#pragma once

#include <cstdint>
#include <vector>

#include "neuroshard/task.h"

namespace neuroshard {

struct PopulationOptions {
  int tables = 856;
  std::int64_t batch = kDefaultBatchSize;
  /// Multiplies all row counts, for machines without memory for tables of the published size. The
  /// row statistics then differ from the published ones by this factor.
  double row_scale = 1.0;
  std::uint64_t seed = 0;
};

/// A drawn table. Its whole lookups are
/// `plan_touches(table, options.batch, Random(options.seed, stream))`.
struct PopulationTable {
  Table table;  ///< dim 128. The histogram is an expectation, the lookups' differs by rounding.
  std::uint64_t stream = 0;
};

/// Draws tables whose statistics follow the published ones (docs/collecting.md says how). Means of
/// rows, pooling factor and of each histogram bin are matched; deviations and the aggregates over
/// all tables come out close. Throws Error if an option is out of range.
[[nodiscard]] std::vector<PopulationTable> draw_population(const PopulationOptions& options);

}  // namespace neuroshard
