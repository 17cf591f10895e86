#pragma once

#include <cstdint>
#include <filesystem>

#include "neuroshard/zipf_histogram.h"
#include "tools/console/console.h"
#include "weights/lookups/table_population.h"
#include "weights/lookups/table_statistics.h"

namespace neuroshard::tools {

/// Draws tables and writes `table_configs.json` into `folder`, which is created; with `streams`
/// also the lookups, `indices.npy` (all tables one after the other) and `lengths.npy`
/// [tables, batch]. The statistics are those of the lookups. Shows its progress.
[[nodiscard]] TableStatistics write_generated_tables(const std::filesystem::path& folder,
                                                     const PopulationOptions& options, bool streams,
                                                     Console& console);

/// Batches in which the rows of a table stay as popular as they are.
struct GeneratedLog {
  std::int64_t batches = 1;
  double zipf_exponent = kDefaultZipfExponent;
  double drift = 0.0;  ///< Share of the ranks that get another row from batch to batch.
};

/// Draws tables and writes `table_configs.json` into `folder`, with the popularity and histograms
/// of Zipf's law, and lookups as above: of all batches of a table one after the other. Returns how
/// many lookups. Shows its progress. Throws Error if `log` is out of range.
[[nodiscard]] std::int64_t write_generated_log(const std::filesystem::path& folder,
                                               const PopulationOptions& options,
                                               const GeneratedLog& log, Console& console);

}  // namespace neuroshard::tools
