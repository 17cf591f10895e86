#pragma once

#include <array>
#include <cstddef>

#include "core/tables/gamma_tail.h"
#include "neuroshard/task.h"

namespace neuroshard {

/// Tables whose rows are looked up in proportion to rank^-exponent. Keeps what all of them share,
/// which takes a few times as long to compute as one histogram. Formulas: docs/zipf_histogram.md.
class ZipfLaw {
 public:
  /// `exponent` is in [0, 16].
  explicit ZipfLaw(double exponent);

  /// Histogram of a table with `rows` rows, 1 to 2^40, and `lookups` lookups in a batch on average.
  [[nodiscard]] std::array<double, kHistogramBins> histogram(double rows, double lookups) const;

 private:
  static constexpr std::size_t kKnownRanks = 64;
  static constexpr std::size_t kSmallCounts = 6;  ///< 0, 1, 2, 4, 8 and 16.
  static constexpr int kMostSmall = 16;

  using Counts = std::array<double, kHistogramBins>;

  /// Rows by rank of one table: the one of rank r is looked up scale * r^-exponent times.
  struct Ranks {
    double rows;
    double scale;
    double log_scale;
    double power;  ///< scale^(1 / exponent), if is_recurrent().
  };

  /// End of the integral over ranks.
  struct End {
    double rank = 0.0;
    double mean = 0.0;
    double log_mean = 0.0;
    double power = 0.0;  ///< mean^(1 / exponent), if is_recurrent().
  };

  /// Values shared by all exponents: a few microseconds, once.
  struct OfAnyExponent;
  [[nodiscard]] static const OfAnyExponent& of_any_exponent();

  /// A count from 32 on.
  struct LargeCount {
    double k = 0.0;
    GammaTail tail{};         ///< Shape k + 1.
    GammaTail tilted_tail{};  ///< Shape k + 1 - 1 / exponent, unless that is small.
    double tilt = 0.0;        ///< Gamma(k + 1 - 1 / exponent) / k!, and its logarithm.
    double log_tilt = 0.0;
    double log_lowest = 0.0;  ///< Logarithms of the limits of `tail`.
    double log_highest = 0.0;
    double lowest_rank = 0.0;  ///< lowest^(-1 / exponent), if is_recurrent(), and of highest.
    double highest_rank = 0.0;
    double smooth_from = 0.0;  ///< As smooth_from() says.
  };

  /// Poisson's distribution.
  struct SmallCounts {
    std::array<double, kSmallCounts> above{};      ///< P(X > k) for k = 0, 1, 2, 4, 8 and 16.
    std::array<double, kMostSmall + 1> density{};  ///< P(X = n)
  };
  [[nodiscard]] static SmallCounts small_counts(double mean);

  [[nodiscard]] double total_popularity(double rows) const;
  [[nodiscard]] double log_power(double rank) const;
  [[nodiscard]] double mean_at(const Ranks& ranks, double rank) const;
  /// `rank_of_one`: what it is of a scale of 1, if is_recurrent().
  [[nodiscard]] double rank_of_mean(const Ranks& ranks, double log_mean, double rank_of_one) const;
  [[nodiscard]] double smooth_rank(double mean) const;
  [[nodiscard]] double first_smooth_rank(const Ranks& ranks) const;
  /// The scale from which on the integral may begin at rank 1/2: that rank is above `highest`,
  /// where a tail has come to 1, and from one rank to the next the mean changes little at `high`.
  [[nodiscard]] double smooth_from(double highest, double high) const;
  [[nodiscard]] End end_at(const Ranks& ranks, double last) const;
  /// Whether 1 / exponent is so small that recurrences by whole counts keep their digits.
  [[nodiscard]] bool is_recurrent() const { return inverse_ <= 16.0; }

  /// Expected number of rows that are looked up more often than each count.
  [[nodiscard]] Counts rows_above(const Ranks& ranks) const;
  void add_small_counts(const Ranks& ranks, const End& end, bool smooth_end, Counts& sums) const;
  void add_small_integral(const End& end, double sign, Counts& sums) const;
  [[nodiscard]] double smallest_rest(const End& end, const SmallCounts& at) const;
  [[nodiscard]] double sum_over_ranks(const LargeCount& count, const Ranks& ranks,
                                      const End& end) const;
  [[nodiscard]] double integral(const LargeCount& count, const End& end) const;
  [[nodiscard]] double rest(const LargeCount& count, const End& end) const;

  double exponent_;
  double inverse_;  ///< 1 / exponent
  int pole_count_;  ///< The count k whose shape k + 1 - inverse is nearest to 0.
  double pole_shape_;
  double pole_gamma_;  ///< (Gamma(1 + pole_shape) - 1) / pole_shape
  double smooth_small_from_ = 0.0;
  std::array<double, kKnownRanks + 1> popularity_{};  ///< rank^-exponent
  std::array<double, kKnownRanks + 1> log_power_{};   ///< exponent * log(rank)
  double first_popularity_ = 0.0;                     ///< Sum of the first 32.
  std::array<LargeCount, kHistogramBins - kSmallCounts> large_{};
};

}  // namespace neuroshard
