#include "neuroshard/zipf_histogram.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/poisson_tails.h"
#include "neuroshard/error.h"

namespace neuroshard {
namespace {

/// Integral of x^-s from a to b, also for s near 1, where the closed form loses its digits.
double integrate_power(double a, double b, double s) {
  const double log_ratio = std::log(b / a);
  const double z = (1.0 - s) * log_ratio;
  const double growth = std::fabs(z) < 1e-8 ? 1.0 + z / 2.0 : std::expm1(z) / z;
  return std::pow(a, 1.0 - s) * log_ratio * growth;
}

/// Sum of r^-s over r = 1..rows: first ranks one by one, the others by the Euler-Maclaurin formula
/// with midpoints.
double total_popularity(double rows, double s) {
  constexpr double kSingleRanks = 32.0;
  double sum = 0.0;
  for (double rank = 1.0; rank <= std::min(rows, kSingleRanks); ++rank) sum += std::pow(rank, -s);
  if (rows <= kSingleRanks) return sum;
  const double first = kSingleRanks + 0.5;
  const double end = rows + 0.5;
  return sum + integrate_power(first, end, s) +
         s / 24.0 * (std::pow(end, -s - 1.0) - std::pow(first, -s - 1.0));
}

/// Rows of a table by rank. The one of rank r is looked up scale * r^-exponent times on average.
class RankedRows {
 public:
  RankedRows(double rows, double exponent, double lookups)
      : rows_(rows),
        exponent_(exponent),
        scale_(lookups / total_popularity(rows, exponent)),
        log_scale_(std::log(scale_)) {}

  /// Expected number of rows that are looked up more often than each count.
  [[nodiscard]] PoissonTails tails() const {
    PoissonTails tails;
    if (scale_ == 0.0) return tails;
    const double single = add_single_ranks(tails);
    if (single < rows_) add_other_ranks(tails, std::log(single + 0.5));
    return tails;
  }

 private:
  [[nodiscard]] double log_mean_at(double log_rank) const {
    return log_scale_ - exponent_ * log_rank;
  }

  /// How fast P(X > k) changes with the logarithm of the rank: it falls from 1 to 0 while that
  /// grows by some 1 / steepness.
  [[nodiscard]] double steepness(double mean) const { return exponent_ * (1.0 + std::sqrt(mean)); }

  /// Ranks as far as P(X > k) changes much from one to the next. Returns the last one.
  double add_single_ranks(PoissonTails& tails) const {
    constexpr double kAtLeast = 24.0;
    constexpr double kSmooth = 4.0;  // Ranks while P(X > k) falls.
    double rank = std::floor(ranks_above_all());
    tails.add_above_all(rank);
    double enough = rows_;
    while (rank < enough) {
      rank += 1.0;
      const double log_mean = log_mean_at(std::log(rank));
      const double mean = std::exp(log_mean);
      tails.add(mean, log_mean, 1.0);
      enough = std::min(rows_, std::max(kAtLeast, kSmooth * steepness(mean)));
    }
    return rank;
  }

  [[nodiscard]] double ranks_above_all() const {
    const double ratio = scale_ / PoissonTails::kAboveAll;
    if (exponent_ == 0.0) return ratio > 1.0 ? rows_ : 0.0;
    return std::min(rows_, std::pow(ratio, 1.0 / exponent_));
  }

  /// Ranks beyond that of `first`, the logarithm of a midpoint between two, by the Euler-Maclaurin
  /// formula.
  void add_other_ranks(PoissonTails& tails, double first) const {
    const double end = std::log(rows_ + 0.5);
    add_end(tails, first, -1.0);
    add_end(tails, end, 1.0);
    constexpr double kPanel = 6.0;  // Times what P(X > k) takes to fall.
    while (first < end) {
      const double width = kPanel / (1.0 + steepness(std::exp(log_mean_at(first))));
      const double last = first + width < end ? first + width : end;
      integrate(tails, first, last);
      first = last;
    }
  }

  /// By Gauss's and Legendre's formula with 8 points.
  void integrate(PoissonTails& tails, double first, double last) const {
    struct Point {
      double at;
      double weight;
    };
    constexpr std::array<Point, 8> kPoints = {{{-0.9602898564975363, 0.1012285362903763},
                                               {-0.7966664774136267, 0.2223810344533745},
                                               {-0.5255324099163290, 0.3137066458778873},
                                               {-0.1834346424956498, 0.3626837833783620},
                                               {0.1834346424956498, 0.3626837833783620},
                                               {0.5255324099163290, 0.3137066458778873},
                                               {0.7966664774136267, 0.2223810344533745},
                                               {0.9602898564975363, 0.1012285362903763}}};
    const double half = 0.5 * (last - first);
    for (const auto& [at, weight] : kPoints) {
      const double log_rank = first + half * (1.0 + at);
      const double log_mean = log_mean_at(log_rank);
      tails.add(std::exp(log_mean), log_mean, half * weight * std::exp(log_rank));
    }
  }

  /// The derivative by the rank, a 24th of it, with the sign that it has at the last rank.
  void add_end(PoissonTails& tails, double log_rank, double sign) const {
    const double log_mean = log_mean_at(log_rank);
    const double mean = std::exp(log_mean);
    tails.add(mean, log_mean, 0.0, sign * exponent_ * mean / (24.0 * std::exp(log_rank)));
  }

  double rows_;
  double exponent_;
  double scale_;
  double log_scale_;
};

void require(bool good, const char* what, double value, const char* remedy) {
  if (!good) {
    throw Error(std::string("access histogram: ") + what + " is " + std::to_string(value) +
                "; give " + remedy);
  }
}

}  // namespace

std::array<double, kHistogramBins> zipf_histogram(std::int64_t rows, double pooling_factor,
                                                  double exponent, std::int64_t batch_size) {
  constexpr auto kMost = static_cast<double>(kMaxRows);
  const auto batch = static_cast<double>(batch_size);
  require(rows >= 1 && rows <= kMaxRows, "row", static_cast<double>(rows), "1 to 2^40");
  require(pooling_factor >= 0.0 && pooling_factor <= kMost, "pooling_factor", pooling_factor,
          "a number between 0 and 2^40");
  require(exponent >= 0.0 && exponent <= 16.0, "zipf_exponent", exponent,
          "a number between 0 and 16");
  require(batch_size >= 1 && batch <= kMost, "batch size", batch, "1 to 2^40");

  const PoissonTails tails =
      RankedRows(static_cast<double>(rows), exponent, pooling_factor * batch).tails();
  const auto& rows_above = tails.sums();
  std::array<double, kHistogramBins> histogram{};
  if (rows_above[0] <= 0.0) return histogram;
  for (int bin = 0; bin < kHistogramBins; ++bin) {
    const double higher = bin + 1 < kHistogramBins ? rows_above[bin + 1] : 0.0;
    histogram[bin] = std::max(0.0, rows_above[bin] - higher) / rows_above[0];
  }
  return histogram;
}

}  // namespace neuroshard
