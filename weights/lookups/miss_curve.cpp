#include "weights/lookups/miss_curve.h"

#include <algorithm>
#include <numeric>

#include "core/tables/row_popularity.h"

namespace neuroshard {

MissCounter::MissCounter() {
  constexpr double kMost = UINT32_MAX;
  ranks_.push_back(0.0);
  while (ranks_.back() < kMost) ranks_.push_back(next_curve_rank(ranks_.back(), kMost));
  counts_.resize(ranks_.size());
}

std::size_t MissCounter::bucket_of(std::uint32_t distance) const {
  return static_cast<std::size_t>(std::ranges::lower_bound(ranks_, distance) - ranks_.begin());
}

MissCurve MissCounter::curve(std::int64_t batches) const {
  const auto per_batch = [&](std::int64_t count) {
    return static_cast<double>(count) / static_cast<double>(batches);
  };
  std::int64_t misses = std::accumulate(counts_.begin(), counts_.end(), std::int64_t{0});
  const std::int64_t first = counts_.front();
  MissCurve curve;
  curve.lookups = per_batch(misses);
  curve.first_lookups = per_batch(first);
  curve.points.push_back({0.0, curve.lookups});
  for (std::size_t i = 1; i < ranks_.size() && misses > first; ++i) {
    misses -= counts_[i];
    curve.points.push_back({ranks_[i], per_batch(misses)});
  }
  return curve;
}

}  // namespace neuroshard
