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
  /// Indices of tables for which the file gives no access histogram. Their histogram is computed
  /// from rows, pooling factor and Zipf exponent (zipf_histogram.h); reports should say so.
  std::vector<int> derived_histograms;
};

/// These throw Error: kIo if the file cannot be read, kInvalidInput on anything that is not as
/// described in docs/task_format.md, naming file, table, field and remedy.
[[nodiscard]] TableConfigs load_table_configs(const std::filesystem::path& path);
[[nodiscard]] TableConfigs parse_table_configs(std::string_view json, const std::string& where);

/// Makes such a file: row, pooling_factor, bin_0 ... bin_16, and dim if `with_dim`. Other fields
/// are there where they are not at their defaults, but no names, rules and batches.
/// `bin_batch_size` is the number of samples that the histograms are of; the file states it if it
/// is not kDefaultBatchSize.
[[nodiscard]] std::string serialize_table_configs(std::span<const Table> tables, bool with_dim,
                                                  std::int64_t bin_batch_size = kDefaultBatchSize);

}  // namespace neuroshard
#pragma GCC visibility pop
