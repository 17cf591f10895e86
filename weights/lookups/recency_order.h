#pragma once

#include <cstdint>
#include <vector>

namespace neuroshard {

/// Rows by when they were last looked up, as places in a list. A Fenwick tree over the places
/// counts those that are taken, so that each call takes O(log n).
class RecencyOrder {
 public:
  using Place = std::uint32_t;  ///< From 1 on; the later the higher.

  [[nodiscard]] std::uint32_t rows() const { return rows_; }
  /// How many rows were looked up no earlier than that of `place`, which is one of them.
  [[nodiscard]] std::uint32_t rank(Place place) const { return rows_ - up_to(place) + 1; }

  /// Whether so many more rows have a place.
  [[nodiscard]] bool has_room_for(std::uint32_t more) const { return tree_.size() > last_ + more; }
  [[nodiscard]] Place append();
  void remove(Place place);

  /// Where the row of `place` is once compact() was called: places without gaps.
  [[nodiscard]] Place compact_place(Place place) const { return up_to(place); }
  /// With room for so many more.
  void compact(std::uint32_t more);

  void clear();

 private:
  [[nodiscard]] std::uint32_t up_to(Place place) const;
  void add(Place place, std::uint32_t change);

  std::vector<std::uint32_t>
      tree_;  ///< From 1 on; element i has the rows of the i & -i places up to i.
  Place last_ = 0;
  std::uint32_t rows_ = 0;
};

}  // namespace neuroshard
