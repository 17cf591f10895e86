#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "neuroshard/training_data.h"

namespace neuroshard::training {

/// The distinct tables of a batch, so that the table network runs once for each of them, and who
/// uses whom in both directions. Compressed rows.
class BatchIndex {
 public:
  explicit BatchIndex(std::size_t tables) : local_(tables, kAbsent) {}

  /// `table_ids`: of all samples, those of sample `s` from `samples.offsets[s]` on.
  void build(const ComputeSamples& samples, std::span<const std::uint32_t> table_ids,
             std::span<const std::uint32_t> batch);

  /// Table ids, in the order in which the batch first names them.
  [[nodiscard]] std::span<const std::uint32_t> tables() const { return tables_; }
  /// Positions in `tables()` of sample `i` of the batch.
  [[nodiscard]] std::span<const std::uint32_t> tables_of(std::size_t i) const {
    return slice(positions_, sample_offsets_, i);
  }
  /// Samples, as positions in the batch, that contain table `i` of `tables()`; twice if twice.
  [[nodiscard]] std::span<const std::uint32_t> samples_of(std::size_t i) const {
    return slice(users_, user_offsets_, i);
  }

 private:
  static constexpr std::uint32_t kAbsent = 0xFFFFFFFF;

  static std::span<const std::uint32_t> slice(const std::vector<std::uint32_t>& values,
                                              const std::vector<std::uint32_t>& offsets,
                                              std::size_t i) {
    return std::span(values).subspan(offsets[i], offsets[i + 1] - offsets[i]);
  }

  std::vector<std::uint32_t> local_;  ///< Position in `tables_` by table id.
  std::vector<std::uint32_t> tables_;
  std::vector<std::uint32_t> sample_offsets_;
  std::vector<std::uint32_t> positions_;
  std::vector<std::uint32_t> user_offsets_;
  std::vector<std::uint32_t> users_;
};

}  // namespace neuroshard::training
