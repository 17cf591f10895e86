#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace neuroshard {

/// A value of each row of a table, 0 at first. The values of the first rows are an array that grows
/// as needed, up to 2^26 rows. Few tables have more rows; there a row takes memory once it is used.
template <typename Value>
class RowMap {
 public:
  /// Call with rows before they are used; they are not negative.
  void make_room_for(std::span<const std::int64_t> rows) {
    for (const std::int64_t row : rows) {
      largest_ = std::max(largest_, row);
      in_array_ = std::max(in_array_, row < kArrayRows ? row + 1 : 0);
    }
    const auto needed = static_cast<std::size_t>(in_array_);
    if (needed <= array_.size()) return;
    array_.resize(
        std::min(std::max(needed, 2 * array_.size()), static_cast<std::size_t>(kArrayRows)));
  }

  [[nodiscard]] Value& operator[](std::int64_t row) {
    return row < kArrayRows ? array_[static_cast<std::size_t>(row)] : beyond_[row];
  }

  /// Values that for_each() goes through.
  [[nodiscard]] std::int64_t size() const {
    return in_array_ + static_cast<std::int64_t>(beyond_.size());
  }

  /// The largest row that there was room made for; -1: none.
  [[nodiscard]] std::int64_t largest() const { return largest_; }

  /// Calls `use(row, value)` of all values that are not 0, and maybe of others.
  template <typename Use>
  void for_each(Use use) {
    visit(*this, use);
  }
  template <typename Use>
  void for_each(Use use) const {
    visit(*this, use);
  }

  /// Forgets the rows but keeps the memory.
  void clear() {
    std::fill(array_.begin(), array_.begin() + in_array_, Value{});
    beyond_.clear();
    largest_ = -1;
    in_array_ = 0;
  }

 private:
  static constexpr std::int64_t kArrayRows = std::int64_t{1} << 26;

  template <typename Map, typename Use>
  static void visit(Map& map, Use& use) {
    for (std::int64_t row = 0; row < map.in_array_; ++row) {
      use(row, map.array_[static_cast<std::size_t>(row)]);
    }
    for (auto& [row, value] : map.beyond_) use(row, value);
  }

  std::vector<Value> array_;
  std::unordered_map<std::int64_t, Value> beyond_;
  std::int64_t largest_ = -1;
  std::int64_t in_array_ = 0;  ///< Values of the array that may be other than 0.
};

}  // namespace neuroshard
