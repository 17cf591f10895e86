#include "weights/lookups/row_counter.h"

#include <algorithm>

#include "core/access_statistics.h"

namespace neuroshard {

static_assert(first_touches(kHistogramBins - 1) < UINT16_MAX, "a full counter is in the last bin");

void RowCounter::add(std::span<const std::int64_t> indices) {
  if (indices.empty()) return;
  largest_ = std::max(largest_, *std::max_element(indices.begin(), indices.end()));
  grow(largest_ + 1);
  const auto count = [](std::uint16_t& touches) {
    touches = static_cast<std::uint16_t>(touches + (touches != UINT16_MAX ? 1 : 0));
  };
  for (const std::int64_t index : indices) {
    if (index < kArrayRows) {
      count(array_[static_cast<std::size_t>(index)]);
    } else {
      count(beyond_[index]);
    }
  }
}

void RowCounter::grow(std::int64_t rows) {
  const auto needed = static_cast<std::size_t>(std::min(rows, kArrayRows));
  if (needed <= array_.size()) return;
  array_.resize(
      std::min(std::max(needed, 2 * array_.size()), static_cast<std::size_t>(kArrayRows)));
}

std::array<std::int64_t, kHistogramBins> RowCounter::rows_by_bin() const {
  std::array<std::int64_t, kHistogramBins> rows{};
  const auto used =
      static_cast<std::ptrdiff_t>(std::min(largest_ + 1, static_cast<std::int64_t>(array_.size())));
  std::for_each(array_.begin(), array_.begin() + used, [&](std::uint16_t touches) {
    if (touches != 0) ++rows[histogram_bin(touches)];
  });
  for (const auto& [row, touches] : beyond_) ++rows[histogram_bin(touches)];
  return rows;
}

void RowCounter::clear() {
  const auto used =
      static_cast<std::ptrdiff_t>(std::min(largest_ + 1, static_cast<std::int64_t>(array_.size())));
  std::fill(array_.begin(), array_.begin() + used, std::uint16_t{0});
  beyond_.clear();
  largest_ = -1;
}

}  // namespace neuroshard
