#pragma once

#include <cstdint>
#include <vector>

namespace neuroshard {

/// One table of a fused embedding-bag operator and its lookups in one batch: sample `s` looks up
/// rows `indices[offsets[s] .. offsets[s + 1])`. Everything is borrowed.
struct OperatorTable {
  float* weights = nullptr;  ///< [rows, dim]
  std::int64_t rows = 0;     ///< Below 2^32.
  int dim = 0;               ///< A multiple of 4.
  const std::int64_t* indices = nullptr;
  const std::int64_t* offsets = nullptr;  ///< batch + 1 entries, first 0.
};

/// Rate of the SGD in measured backward passes; small, so that the weights stay what they are.
inline constexpr float kMeasuredLearningRate = 1e-4F;

/// The tables of one device. Sample `s` of the output (or gradient) [batch, dim_sum] has the sums
/// of the rows that it looks up in each table, one table after the other.
struct OperatorShard {
  std::vector<OperatorTable> tables;
  std::int64_t batch = 0;  ///< Below 2^32.

  [[nodiscard]] std::int64_t dim_sum() const {
    std::int64_t sum = 0;
    for (const OperatorTable& table : tables) sum += table.dim;
    return sum;
  }
};

}  // namespace neuroshard
