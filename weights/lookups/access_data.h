#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "weights/lookups/access_stream.h"
#include "weights/lookups/sequential_file.h"

namespace neuroshard {

/// Where a file keeps the lookups in all tables, and what belongs to which table.
struct AccessData {
  std::filesystem::path path;
  std::int64_t first_byte = 0;  ///< First byte of the indices, after unpacking.
  int element_bytes = 8;        ///< Bytes of an index, 4 or 8.
  bool compressed = false;      ///< Then the file can only be read from front to back.
  std::int64_t batch = 0;       ///< All samples.
  std::int64_t batches = 1;     ///< Equal ones, which the samples are one after the other.
  /// Where the lookups divide into samples: lengths [tables, batch], or offsets.
  struct Samples {
    std::filesystem::path path;
    std::int64_t first_byte = 0;
    int element_bytes = 8;
    bool offsets = false;
    bool compressed = false;
  };
  Samples samples;
  /// Lookups of table `t` are indices[table_begin[t] .. table_begin[t + 1]).
  std::vector<std::int64_t> table_begin{0};

  /// Where each batch of each table begins, those of table `t` from t * batches on; at last the
  /// end.
  std::vector<std::int64_t> batch_begin{0};

  [[nodiscard]] std::size_t tables() const { return table_begin.size() - 1; }
  [[nodiscard]] std::int64_t lookups() const { return table_begin.back(); }
};

// Reading these takes a fixed amount of memory, whatever the size of the file. All throw Error: kIo
// if a file cannot be read, kInvalidInput naming file, table and sample if its contents disagree,
// or if the samples are not so many equal batches.

/// `torch.save` of the tuple (indices, offsets, lengths), plain or gzip-compressed, as published in
/// facebookresearch/dlrm_datasets: `lengths` is [tables, batch], `offsets` has tables * batch + 1
/// entries into `indices`.
[[nodiscard]] AccessData open_torch_accesses(const std::filesystem::path& path,
                                             std::int64_t batches = 1);

/// NumPy files of the indices and of the lengths [tables, batch].
[[nodiscard]] AccessData open_npy_accesses(const std::filesystem::path& indices,
                                           const std::filesystem::path& lengths,
                                           std::int64_t batches = 1);
/// Opens offsets (tables * batch + 1 of them) in place of the lengths.
[[nodiscard]] AccessData open_npy_offsets(const std::filesystem::path& indices,
                                          const std::filesystem::path& offsets, std::int64_t batch,
                                          std::int64_t batches = 1);

/// The lookups of one table. Throws Error (kIo) if the file is compressed, for then every table
/// would take reading all before it; and (kInvalidInput) naming file and table if an index is
/// negative or not below `rows`.
[[nodiscard]] AccessStream read_stream(const AccessData& data, std::size_t table,
                                       std::int64_t rows);

/// read_stream() of one of the batches. Rows are not looked at.
[[nodiscard]] AccessStream read_batch(const AccessData& data, std::size_t table,
                                      std::int64_t batch);

/// Reads indices in ascending order of position.
class IndexReader {
 public:
  explicit IndexReader(const AccessData& data);

  /// Fills `indices` with those from position `first` on, which is not before an earlier one.
  void read(std::int64_t first, std::span<std::int64_t> indices);

 private:
  const AccessData& data_;
  SequentialFile file_;
  std::vector<std::int32_t> narrow_;
};

}  // namespace neuroshard
