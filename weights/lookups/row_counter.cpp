#include "weights/lookups/row_counter.h"

#include <algorithm>

#include "core/tables/access_statistics.h"

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
    std::uint16_t& touches =
        index < kArrayRows ? array_[static_cast<std::size_t>(index)] : beyond_[index];
    if (exact_ && touches == UINT16_MAX) ++full_[index];
    count(touches);
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

std::vector<double> RowCounter::lookup_shares(std::int64_t rows, int parts) const {
  // Lookups times `parts`: whole numbers also of rows that lie in several parts.
  std::vector<double> lookups(static_cast<std::size_t>(parts), 0.0);
  double all = 0.0;
  const auto add = [&](std::int64_t row, std::int64_t touches) {
    all += static_cast<double>(touches * parts);
    const std::int64_t end = (row + 1) * parts;
    std::int64_t part = row * parts / rows;
    for (std::int64_t begin = row * parts; begin < end; ++part) {
      const std::int64_t next = std::min(end, (part + 1) * rows);
      lookups[static_cast<std::size_t>(part)] += static_cast<double>(touches * (next - begin));
      begin = next;
    }
  };
  const auto used = std::min(largest_ + 1, static_cast<std::int64_t>(array_.size()));
  for (std::int64_t row = 0; row < used; ++row) {
    if (const std::uint16_t touches = array_[static_cast<std::size_t>(row)]) add(row, touches);
  }
  for (const auto& [row, touches] : beyond_) add(row, touches);
  for (const auto& [row, touches] : full_) add(row, touches);
  for (double& share : lookups) share /= all;
  return lookups;
}

void RowCounter::clear() {
  const auto used =
      static_cast<std::ptrdiff_t>(std::min(largest_ + 1, static_cast<std::int64_t>(array_.size())));
  std::fill(array_.begin(), array_.begin() + used, std::uint16_t{0});
  beyond_.clear();
  full_.clear();
  largest_ = -1;
}

}  // namespace neuroshard
