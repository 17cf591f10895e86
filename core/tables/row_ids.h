#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace neuroshard {

/// Numbers distinct rows of integers 0, 1, 2, ... in the order of their first appearance.
/// Rows may differ in length. Compares whole rows, so equal hashes do no harm.
class RowIds {
 public:
  RowIds();

  /// The number of `row`; size() before the call if it is new.
  std::uint32_t find_or_add(std::span<const std::uint32_t> row);

  [[nodiscard]] std::size_t size() const { return offsets_.size() - 1; }
  [[nodiscard]] std::span<const std::uint32_t> row(std::uint32_t id) const {
    return std::span(values_).subspan(offsets_[id], offsets_[id + 1] - offsets_[id]);
  }
  /// Memory in use: the rows, and what finds them.
  [[nodiscard]] std::size_t bytes() const {
    return values_.size() * sizeof(std::uint32_t) + size() * kBytesOfARow;
  }
  /// Memory held, used or not.
  [[nodiscard]] std::size_t held_bytes() const;
  /// Forgets all rows; keeps the memory.
  void clear();

 private:
  void grow();

  /// Bytes of a row beside its values: offset, hash and at most four slots.
  static constexpr std::size_t kBytesOfARow =
      sizeof(std::size_t) + sizeof(std::uint64_t) + 4 * sizeof(std::uint32_t);

  std::vector<std::uint32_t> values_;
  std::vector<std::size_t> offsets_{0};
  std::vector<std::uint64_t> hashes_;  ///< Hash of each row.
  /// Hash table of row + 1, or 0 where there is none. Its size is a power of two.
  std::vector<std::uint32_t> slots_;
};

}  // namespace neuroshard
