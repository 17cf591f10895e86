#pragma once

#include <filesystem>

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

}  // namespace neuroshard::tools
