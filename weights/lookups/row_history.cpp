#include "weights/lookups/row_history.h"

#include <algorithm>

#include "core/tables/access_statistics.h"

namespace neuroshard {

void RowHistory::add(std::span<const std::int64_t> rows) {
  rows_.make_room_for(rows);
  for (const std::int64_t row : rows) {
    Row& known = rows_[row];
    if ((known.place & kInBatch) == 0) {
      batch_.push_back({row, known.place, 0, 0});
      known.place = kInBatch | static_cast<std::uint32_t>(batch_.size() - 1);
    }
    RowOfBatch& in_batch = batch_[known.place & ~kInBatch];
    ++in_batch.touches;
    in_batch.last = lookups_of_batch_++;
  }
}

void RowHistory::end_batch(bool counted) {
  for (const auto& [row, place, touches, last] : batch_) {
    Row& known = rows_[row];
    known.place = place;
    known.touches += std::min(touches, UINT32_MAX - known.touches);
    ++rows_by_bin_[static_cast<std::size_t>(histogram_bin(touches))];
  }
  if (with_distances_) {
    if (counted && counted_batches_++ == 0) warm_rows_ = order_.rows();
    if (counted) measure();
    const auto more = static_cast<std::uint32_t>(batch_.size());
    if (!order_.has_room_for(more)) {
      rows_.for_each([&](std::int64_t, Row& known) {
        if (known.place != 0) known.place = order_.compact_place(known.place);
      });
      // So rarely that it takes less than the lookups in between.
      const auto scanned = static_cast<std::uint32_t>(rows_.size());
      order_.compact(order_.rows() + scanned / 8 + 2 * more);
    }
    std::ranges::sort(batch_, {}, &RowOfBatch::last);
    for (const RowOfBatch& looked_up : batch_) {
      Row& known = rows_[looked_up.row];
      if (known.place != 0) order_.remove(known.place);
      known.place = order_.append();
    }
  }
  batch_.clear();
  lookups_of_batch_ = 0;
}

void RowHistory::measure() {
  for (const RowOfBatch& looked_up : batch_) {
    misses_.add(looked_up.place == 0 ? 0 : order_.rank(looked_up.place));
  }
}

std::map<std::uint32_t, std::int64_t> RowHistory::rows_by_touches() const {
  std::map<std::uint32_t, std::int64_t> rows;
  rows_.for_each([&](std::int64_t, const Row& known) {
    if (known.touches != 0) ++rows[known.touches];
  });
  return rows;
}

MissCurve RowHistory::miss_curve() const {
  MissCurve curve = misses_.curve(counted_batches_);
  curve.warm_rows = warm_rows_;
  return curve;
}

void RowHistory::clear() {
  rows_.clear();
  batch_.clear();
  lookups_of_batch_ = 0;
  rows_by_bin_ = {};
  order_.clear();
  misses_.clear();
  counted_batches_ = 0;
  warm_rows_ = 0;
}

}  // namespace neuroshard
