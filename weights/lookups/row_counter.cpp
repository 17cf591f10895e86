#include "weights/lookups/row_counter.h"

#include <algorithm>

#include "core/tables/access_statistics.h"

namespace neuroshard {

static_assert(first_touches(kHistogramBins - 1) < UINT16_MAX, "a full counter is in the last bin");

void RowCounter::add(std::span<const std::int64_t> indices) {
  touches_.make_room_for(indices);
  const auto count = [](std::uint16_t& touches) {
    touches = static_cast<std::uint16_t>(touches + (touches != UINT16_MAX ? 1 : 0));
  };
  for (const std::int64_t index : indices) {
    std::uint16_t& touches = touches_[index];
    if (exact_ && touches == UINT16_MAX) ++full_[index];
    count(touches);
  }
}

std::array<std::int64_t, kHistogramBins> RowCounter::rows_by_bin() const {
  std::array<std::int64_t, kHistogramBins> rows{};
  touches_.for_each([&](std::int64_t, std::uint16_t touches) {
    if (touches != 0) ++rows[histogram_bin(touches)];
  });
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
  touches_.for_each([&](std::int64_t row, std::uint16_t touches) {
    if (touches != 0) add(row, touches);
  });
  for (const auto& [row, touches] : full_) add(row, touches);
  for (double& share : lookups) share /= all;
  return lookups;
}

void RowCounter::clear() {
  touches_.clear();
  full_.clear();
}

}  // namespace neuroshard
