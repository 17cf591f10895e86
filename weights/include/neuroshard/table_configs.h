#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "neuroshard/task.h"

#pragma GCC visibility push(default)
namespace neuroshard {

/// The published system's list of tables, `table_configs.json`.
struct TableConfigs {
  std::vector<Table> tables;  ///< dim is 0 where the file gives none.
  /// Indices of tables for which the file gives no access histogram. Theirs is computed from rows,
  /// pooling factor and Zipf exponent (zipf_histogram.h); reports should say so.
  std::vector<int> derived_histograms;
};

/// Throw Error: kIo if the file cannot be read, kInvalidInput on anything that is not as described
/// in docs/task_format.md, naming file, table, field and remedy.
[[nodiscard]] TableConfigs load_table_configs(const std::filesystem::path& path);
[[nodiscard]] TableConfigs parse_table_configs(std::string_view json, const std::string& where);

/// Such a file: row, pooling_factor, bin_0 ... bin_16, and dim if `with_dim`; other fields where
/// they are not at their defaults, but no names, rules and batches. `bin_batch_size`: the samples
/// that the tables' histograms are of, which the file states if they are not kDefaultBatchSize.
[[nodiscard]] std::string serialize_table_configs(std::span<const Table> tables, bool with_dim,
                                                  std::int64_t bin_batch_size = kDefaultBatchSize);

}  // namespace neuroshard
#pragma GCC visibility pop
