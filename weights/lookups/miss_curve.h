#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace neuroshard {

/// Misses of caches of several sizes that keep the rows which were looked up last. A batch asks for
/// each of its rows once, and finds what the batches before have left.
struct MissCurve {
  struct Point {
    double cache_rows = 0.0;
    double misses = 0.0;  ///< A batch has so many on average.
  };

  double lookups = 0.0;  ///< Distinct rows of a batch, on average: misses without a cache.
  /// So many of them were in no batch before; any cache misses them.
  double first_lookups = 0.0;
  /// Rows of the batches before those that are counted: a larger cache was not full yet.
  std::int64_t warm_rows = 0;
  std::vector<Point> points;  ///< By cache rows, up to the rows that were looked up.
};

/// Adds up the distances at which rows are looked up again.
class MissCounter {
 public:
  MissCounter();

  /// A row of a batch. Since it was looked up before, so many distinct rows were, itself included;
  /// 0: it never was.
  void add(std::uint32_t distance) { ++counts_[distance == 0 ? 0 : bucket_of(distance)]; }
  /// `batches`: how many there were.
  [[nodiscard]] MissCurve curve(std::int64_t batches) const;
  void clear() { counts_.assign(counts_.size(), 0); }

 private:
  [[nodiscard]] std::size_t bucket_of(std::uint32_t distance) const;

  std::vector<double> ranks_;  ///< Distances at which buckets end: 0 and those of curves.
  std::vector<std::int64_t> counts_;
};

}  // namespace neuroshard
