#pragma once

#include <cstdint>
#include <vector>

#include "core/base/random.h"
#include "weights/lookups/access_stream.h"

namespace neuroshard {

/// Draws ranks from 1 on with probabilities in proportion to rank^-exponent, each in constant time
/// (Hoermann, Derflinger: Rejection-inversion to generate variates from monotone discrete
/// distributions, 1996).
class ZipfRanks {
 public:
  /// `ranks` is at least 1, `exponent` in [0, 16].
  ZipfRanks(std::int64_t ranks, double exponent);
  [[nodiscard]] std::int64_t draw(Random& random) const;

 private:
  [[nodiscard]] double density(double rank) const;
  /// Integral of the density from 1 to `rank`.
  [[nodiscard]] double integral(double rank) const;
  [[nodiscard]] double rank_of_integral(double value) const;

  double ranks_;
  double exponent_;
  double first_;  ///< Integrals between which uniform numbers are drawn.
  double last_;
  double accepted_;  ///< Ranks that are so little above what was drawn are always taken.
};

/// Batches of lookups whose popularity is Zipf's, each lookup by itself in a random sample. Which
/// rows are popular is kept from batch to batch, but for a drift.
class ZipfLookups {
 public:
  /// Before each batch but the first, ranks swap their rows in pairs, as many as that share of all
  /// ranks; `drift` is in [0, 1].
  ZipfLookups(std::int64_t rows, double exponent, double drift);

  [[nodiscard]] AccessStream batch(std::int64_t lookups, std::int64_t samples, Random& random);
  /// Rows by rank in the last batch, the most popular one first.
  [[nodiscard]] const std::vector<std::int64_t>& rows() const { return rows_; }

 private:
  ZipfRanks ranks_;
  std::int64_t swaps_;
  bool first_ = true;
  std::vector<std::int64_t> rows_;
};

}  // namespace neuroshard
