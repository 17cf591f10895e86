#pragma once

#include <cstdint>
#include <vector>

#include "neuroshard/task.h"

namespace neuroshard {

struct WidePopulationOptions {
  int tables = 1000;
  std::int64_t batch = kDefaultBatchSize;
  std::uint64_t seed = 0;
};

/// Draws tables of every kind, for models that are to predict tables unlike the published 856: rows
/// from 3 to 500 million, pooling factors to 250. Half of the tables are accessed by Zipf's law
/// (zipf_histogram.h) with exponents from 0 (even) to 1.5, most near the 1.05 to 1.1 of public
/// models (DLRM, HugeCTR, synthetic giants), and often looked up just once. The other half has
/// access histograms that decay from some bin on at any rate, with or without a bell elsewhere. Dim
/// is 128. Throws Error if an option is out of range.
[[nodiscard]] std::vector<Table> draw_wide_population(const WidePopulationOptions& options);

}  // namespace neuroshard
