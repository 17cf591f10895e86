#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>

#include "core/tables/zipf_law.h"
#include "neuroshard/histogram_scale.h"
#include "neuroshard/task.h"
#include "neuroshard/zipf_histogram.h"
#include "weights/files/json_reader.h"

namespace neuroshard {

/// Reads table objects of one file, in our schema or the published one.
class TableReader {
 public:
  /// `zipf_exponent`: of tables that give neither a histogram nor an exponent. `memory`: of tables
  /// as far as they say nothing of it.
  explicit TableReader(double zipf_exponent = kDefaultZipfExponent, const TableMemory& memory = {})
      : zipf_exponent_(zipf_exponent), memory_(memory) {}

  enum class Dim { kRequired, kOptional };

  struct Result {
    Table table;  ///< Valid, or of dim 0 if that is optional and absent.
    bool derived_histogram = false;
  };
  /// Throws Error on unknown fields too.
  [[nodiscard]] Result read(const JsonObject& object, Dim dim);

 private:
  /// Properties from which a histogram is derived.
  struct Kind {
    std::int64_t rows;
    double pooling_factor;
    double exponent;
    bool operator==(const Kind&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Kind& kind) const;
  };
  using Histogram = std::array<double, kHistogramBins>;
  [[nodiscard]] const Histogram& derive(const Kind& kind);

  /// The histogram of `table`, which `samples` samples have, in kDefaultBatchSize of them.
  [[nodiscard]] Histogram rescaled(const Table& table, std::int64_t samples);

  std::unordered_map<Kind, Histogram, Hash> derived_;  ///< Large models repeat few kinds of tables.
  static constexpr std::size_t kMostLaws = 64;
  std::map<double, ZipfLaw> laws_;                 ///< By exponent; of 3 KiB each.
  std::map<std::int64_t, HistogramScale> scales_;  ///< By samples; of 2 KiB each.
  double zipf_exponent_;
  TableMemory memory_;
};

/// "zipf_exponent" of a table or a file, checked.
[[nodiscard]] double read_zipf_exponent(const JsonObject& object);

/// `memory` with the "weight_type" and "optimizer" of a table or a file, as far as it has them.
[[nodiscard]] TableMemory read_table_memory(const JsonObject& object, TableMemory memory);

}  // namespace neuroshard
