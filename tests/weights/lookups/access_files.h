#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "neuroshard/task.h"

namespace neuroshard::testing {

/// One batch of lookups in a few tables, as a Python program would hold it.
struct Accesses {
  std::vector<std::int64_t> indices;
  std::vector<std::int64_t> offsets;
  std::vector<std::int64_t> lengths;
  std::int64_t tables = 0;
  std::int64_t batch = 0;

  /// Rows, pooling factor, histogram and, of that many parts unless 0, row shares of every table by
  /// the definition, without any thrift.
  [[nodiscard]] std::vector<Table> expected_profile(int row_parts = 0) const;
};

/// Random ones; some tables are never looked up, some are hot, one has more than a million lookups
/// in few rows if `large`.
[[nodiscard]] Accesses random_accesses(std::uint64_t seed, std::int64_t tables, std::int64_t batch,
                                       bool large = false);

/// Little-endian, `element_bytes` 4 or 8.
[[nodiscard]] std::string integer_bytes(const std::vector<std::int64_t>& numbers,
                                        int element_bytes = 8);

/// File that torch.save makes of the tuple (indices, offsets, lengths): a zip file whose entries
/// are aligned, and followed by their sizes rather than preceded. The sizes take 4 bytes, or 8 as
/// in files of more than 4 GB if `large`.
[[nodiscard]] std::string torch_file(const Accesses& accesses, int element_bytes = 8,
                                     bool large = false);

[[nodiscard]] std::string npy_file(const std::vector<std::int64_t>& numbers,
                                   const std::string& shape, int element_bytes = 8);

[[nodiscard]] std::string gzip(const std::string& bytes);

}  // namespace neuroshard::testing
