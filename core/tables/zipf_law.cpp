#include "core/tables/zipf_law.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace neuroshard {
namespace {

constexpr double kSummedRanks = 32.0;
constexpr double kAboveSmall = 60.0;  ///< From this mean on, P(X > 16) is 1.
constexpr double kHighSmall = 32.0;   ///< At this mean, P(X > 16) is 0.999.
constexpr double kNearlyEven = 1e9;   ///< Limit of 1 / exponent: above it all rows have one mean.
constexpr double kLogMaxRows = 30.0;  ///< More than the logarithm of kMaxRows.
constexpr double kAboveMaxRows = 1e13;
constexpr double kAtLeast = 24.0;
constexpr double kSmooth = 4.0;  ///< Ranks while P(X > k) falls.

constexpr bool is_listed(int count) { return (count & (count - 1)) == 0; }

constexpr auto kReciprocals = [] {
  std::array<double, 17> all{};
  for (int n = 1; n < 17; ++n) all[static_cast<std::size_t>(n)] = 1.0 / n;
  return all;
}();

/// (e^z - 1) / z
double growth(double z) { return std::fabs(z) < 1e-8 ? 1.0 + z / 2.0 : std::expm1(z) / z; }

/// e^x E_p(x), by the continued fraction of the exponential integral (DLMF 8.19.17, contracted).
double exponential_integral(double p, double x, int levels) {
  double below = x + p + 2.0 * levels;
  for (int n = levels; n > 0; --n) below = x + p + 2.0 * (n - 1) - n * (p + n - 1.0) / below;
  return 1.0 / below;
}

}  // namespace

struct ZipfLaw::OfAnyExponent {
  OfAnyExponent() {
    for (std::size_t rank = 1; rank <= kKnownRanks; ++rank) {
      log_rank[rank] = std::log(static_cast<double>(rank));
    }
    for (std::size_t i = 0; i < large.size(); ++i) {
      LargeCount& count = large[i];
      count.k = std::ldexp(1.0, static_cast<int>(i + kSmallCounts) - 1);
      count.tail = GammaTail(count.k + 1.0);
      count.log_lowest = std::log(count.tail.lowest());
      count.log_highest = std::log(count.tail.highest());
      log_factorial[i] = std::lgamma(count.k + 1.0);
    }
  }

  std::array<double, kKnownRanks + 1> log_rank{};
  std::array<LargeCount, kHistogramBins - kSmallCounts> large{};
  std::array<double, kHistogramBins - kSmallCounts> log_factorial{};  ///< Logarithm of k!.
};

const ZipfLaw::OfAnyExponent& ZipfLaw::of_any_exponent() {
  static const OfAnyExponent known;
  return known;
}

ZipfLaw::ZipfLaw(double exponent)
    : exponent_(exponent),
      inverse_(1.0 / exponent),
      pole_count_(is_recurrent() ? std::max(0, static_cast<int>(std::lround(inverse_)) - 1) : 0),
      pole_shape_(pole_count_ + 1.0 - inverse_) {
  constexpr double kNear = 1e-6;  // From the pole: two terms of the series are enough.
  pole_gamma_ = std::fabs(pole_shape_) < kNear
                    ? -std::numbers::egamma + 0.9890559953279725 * pole_shape_
                    : std::expm1(std::lgamma(1.0 + pole_shape_)) / pole_shape_;
  const OfAnyExponent& known = of_any_exponent();
  for (std::size_t rank = 1; rank <= kKnownRanks; ++rank) {
    log_power_[rank] = exponent * known.log_rank[rank];
    popularity_[rank] = std::exp(-log_power_[rank]);
    if (static_cast<double>(rank) <= kSummedRanks) first_popularity_ += popularity_[rank];
  }
  smooth_small_from_ = smooth_from(kAboveSmall, kHighSmall);
  large_ = known.large;
  for (std::size_t i = 0; i < large_.size(); ++i) {
    LargeCount& count = large_[i];
    if (is_recurrent()) {
      count.lowest_rank = std::exp(-inverse_ * count.log_lowest);
      count.highest_rank = std::exp(-inverse_ * count.log_highest);
    }
    count.smooth_from = smooth_from(count.tail.highest(), count.tail.high());
    const double tilted = count.k + 1.0 - inverse_;
    if (tilted < GammaTail::kLeastShape) continue;
    count.tilted_tail = GammaTail(tilted);
    count.log_tilt = std::lgamma(tilted) - known.log_factorial[i];
    count.tilt = std::exp(count.log_tilt);
  }
}

std::array<double, kHistogramBins> ZipfLaw::histogram(double rows, double lookups) const {
  Counts shares{};
  if (lookups == 0.0) return shares;
  const double scale = lookups / total_popularity(rows);
  const double log_scale = std::log(scale);
  const double power = is_recurrent() ? std::exp(inverse_ * log_scale) : 0.0;
  const Counts above = rows_above({rows, scale, log_scale, power});
  if (above[0] <= 0.0) return shares;
  for (std::size_t bin = 0; bin < kHistogramBins; ++bin) {
    const double higher = bin + 1 < kHistogramBins ? above[bin + 1] : 0.0;
    shares[bin] = std::max(0.0, above[bin] - higher) / above[0];
  }
  return shares;
}

/// Sum of r^-exponent over r = 1..rows: first ranks one by one, the others by the Euler-Maclaurin
/// formula with midpoints.
double ZipfLaw::total_popularity(double rows) const {
  if (rows <= kSummedRanks) {
    double sum = 0.0;
    for (std::size_t rank = 1; rank <= static_cast<std::size_t>(rows); ++rank)
      sum += popularity_[rank];
    return sum;
  }
  const double first = kSummedRanks + 0.5;
  const double log_first = std::log(first);
  const double end = rows + 0.5;
  const double log_ratio = std::log(end / first);
  const double at_first = std::exp(-exponent_ * log_first);
  const double at_end = at_first * std::exp(-exponent_ * log_ratio);
  return first_popularity_ + at_first * first * log_ratio * growth((1.0 - exponent_) * log_ratio) +
         exponent_ / 24.0 * (at_end / end - at_first / first);
}

double ZipfLaw::log_power(double rank) const {
  return rank <= kKnownRanks ? log_power_[static_cast<std::size_t>(rank)]
                             : exponent_ * std::log(rank);
}

double ZipfLaw::mean_at(const Ranks& ranks, double rank) const {
  return ranks.scale * (rank <= kKnownRanks ? popularity_[static_cast<std::size_t>(rank)]
                                            : std::exp(-exponent_ * std::log(rank)));
}

double ZipfLaw::rank_of_mean(const Ranks& ranks, double log_mean, double rank_of_one) const {
  if (is_recurrent()) return std::min(ranks.power * rank_of_one, kAboveMaxRows);
  const double log_ratio = ranks.log_scale - log_mean;
  if (inverse_ > kNearlyEven) return log_ratio >= 0.0 ? ranks.rows : 0.0;
  return std::exp(std::min(log_ratio * inverse_, kLogMaxRows));
}

double ZipfLaw::smooth_rank(double mean) const {
  return kSmooth * exponent_ * (1.0 + std::sqrt(mean));
}

double ZipfLaw::first_smooth_rank(const Ranks& ranks) const {
  double rank = std::min(kAtLeast, ranks.rows);
  while (rank < ranks.rows && rank < smooth_rank(mean_at(ranks, rank))) rank += 1.0;
  return rank;
}

double ZipfLaw::smooth_from(double highest, double high) const {
  constexpr double kDeviations = 0.8;  // Between two ranks, where the tail begins to fall.
  const double rank = exponent_ * std::sqrt(high) * kDeviations;
  return std::max(highest * std::exp2(-exponent_), high * std::pow(rank, exponent_));
}

ZipfLaw::End ZipfLaw::end_at(const Ranks& ranks, double last) const {
  End end;
  end.rank = last + 0.5;
  end.log_mean = ranks.log_scale - exponent_ * std::log(end.rank);
  end.mean = std::exp(end.log_mean);
  if (is_recurrent()) end.power = std::exp(inverse_ * end.log_mean);
  return end;
}

ZipfLaw::Counts ZipfLaw::rows_above(const Ranks& ranks) const {
  const End end = end_at(ranks, ranks.rows);
  const bool smooth_end = ranks.rows >= std::max(kAtLeast, smooth_rank(end.mean));
  Counts sums{};
  add_small_counts(ranks, end, smooth_end, sums);
  for (std::size_t bin = kSmallCounts; bin < kHistogramBins; ++bin) {
    const LargeCount& count = large_[bin - kSmallCounts];
    if (ranks.scale <= count.tail.lowest()) break;  // Nor are there higher counts.
    if (end.mean >= count.tail.highest()) {
      sums[bin] = ranks.rows;
    } else if (ranks.scale >= count.smooth_from &&
               (smooth_end || end.mean <= count.tail.lowest())) {
      sums[bin] = integral(count, end) - 0.5;
    } else {
      sums[bin] = sum_over_ranks(count, ranks, end);
    }
  }
  return sums;
}

double ZipfLaw::sum_over_ranks(const LargeCount& count, const Ranks& ranks, const End& end) const {
  constexpr double kFew = 200.0;
  const double first =
      std::floor(std::min(ranks.rows, rank_of_mean(ranks, count.log_highest, count.highest_rank)));
  double last =
      std::ceil(std::min(ranks.rows, rank_of_mean(ranks, count.log_lowest, count.lowest_rank)));
  const bool by_integral = last - first > kFew;
  if (by_integral) last = std::min(last, std::max(first, first_smooth_rank(ranks)));
  double sum = first;
  constexpr std::size_t kAtOnce = 8;
  std::array<double, kAtOnce> mean{};
  std::array<double, kAtOnce> log_mean{};
  for (double rank = first + 1.0; rank <= last;) {
    std::size_t n = 0;
    for (; n < kAtOnce && rank <= last; ++n, rank += 1.0) {
      mean[n] = mean_at(ranks, rank);
      log_mean[n] = ranks.log_scale - log_power(rank);
    }
    sum = count.tail.sum_below({mean.data(), n}, {log_mean.data(), n}, sum);
  }
  if (by_integral && last < ranks.rows) {
    sum += integral(count, end) - integral(count, end_at(ranks, last));
  }
  return sum;
}

double ZipfLaw::integral(const LargeCount& count, const End& end) const {
  const GammaTail::Value value = count.tail.at(end.mean, end.log_mean);
  double share = value.below;
  if (end.mean < count.tail.highest()) share += rest(count, end);
  return end.rank * share + exponent_ / 24.0 * end.mean * value.density / end.rank;
}

double ZipfLaw::rest(const LargeCount& count, const End& end) const {
  if (inverse_ > kNearlyEven) return 0.0;
  const double tilted = count.k + 1.0 - inverse_;
  // Not far in the tail of the tilted distribution, which would have to be known to more digits.
  if (tilted >= GammaTail::kLeastShape && (end.mean <= tilted || inverse_ * inverse_ <= count.k)) {
    const double scale = is_recurrent() ? end.power * count.tilt
                                        : std::exp(inverse_ * end.log_mean + count.log_tilt);
    return scale * (1.0 - count.tilted_tail.at(end.mean, end.log_mean).below);
  }
  const int levels = 60 + 4 * static_cast<int>(std::sqrt(std::max(0.0, tilted)));
  return std::exp((count.k + 1.0) * end.log_mean - end.mean - std::lgamma(count.k + 1.0)) *
         exponential_integral(inverse_ - count.k, end.mean, levels);
}

void ZipfLaw::add_small_counts(const Ranks& ranks, const End& end, bool smooth_end,
                               Counts& sums) const {
  if (end.mean >= kAboveSmall) {
    std::fill_n(sums.begin(), kSmallCounts, ranks.rows);
    return;
  }
  const double last =
      smooth_end && ranks.scale >= smooth_small_from_ ? 0.0 : first_smooth_rank(ranks);
  for (double rank = 1.0; rank <= last; rank += 1.0) {
    const SmallCounts at = small_counts(mean_at(ranks, rank));
    for (std::size_t bin = 0; bin < kSmallCounts; ++bin) sums[bin] += at.above[bin];
  }
  if (last == ranks.rows) return;
  add_small_integral(end, 1.0, sums);
  if (last > 0.0) {
    add_small_integral(end_at(ranks, last), -1.0, sums);
  } else {
    for (std::size_t bin = 0; bin < kSmallCounts; ++bin) sums[bin] -= 0.5;
  }
}

ZipfLaw::SmallCounts ZipfLaw::small_counts(double mean) {
  SmallCounts counts;
  if (mean >= kAboveSmall) {
    counts.above.fill(1.0);
    return counts;
  }
  std::array<double, kMostSmall + 1>& density = counts.density;
  density[0] = std::exp(-mean);
  for (int n = 1; n <= kMostSmall; ++n) density[n] = density[n - 1] * mean * kReciprocals[n];
  constexpr double kFewest = 0.5;
  if (mean <= kFewest) {
    // From the last term to the first: less 1, P(X <= k) would have no digits left.
    double above = 0.0;
    std::size_t bin = kSmallCounts - 1;
    for (int n = kMostSmall; n >= 0; --n) {
      if (is_listed(n)) counts.above[bin--] = above;
      above += density[n];
    }
  } else {
    double above = 1.0;
    std::size_t bin = 0;
    for (int n = 0; n <= kMostSmall; ++n) {
      above -= density[n];
      if (is_listed(n)) counts.above[bin++] = above;
    }
  }
  return counts;
}

void ZipfLaw::add_small_integral(const End& end, double sign, Counts& sums) const {
  const SmallCounts at = small_counts(end.mean);
  const bool even = inverse_ > kNearlyEven || end.mean >= kAboveSmall;
  double rest = even || !is_recurrent() ? 0.0 : smallest_rest(end, at);
  std::size_t bin = 0;
  for (int n = 0; n <= kMostSmall; ++n) {
    const double density = at.density[static_cast<std::size_t>(n)];
    if (n > 0 && is_recurrent())
      rest = even ? 0.0 : (1.0 - inverse_ * kReciprocals[n]) * rest + density;
    if (!is_listed(n)) continue;
    if (!even && !is_recurrent()) {
      constexpr int kLevels = 40;
      rest = density * end.mean * exponential_integral(inverse_ - n, end.mean, kLevels);
    }
    sums[bin] += sign * (end.rank * (at.above[bin] + rest) +
                         exponent_ / 24.0 * end.mean * density / end.rank);
    ++bin;
  }
}

double ZipfLaw::smallest_rest(const End& end, const SmallCounts& at) const {
  constexpr double kSeries = 1.5;
  const double mean = end.mean;
  if (mean >= kSeries) {
    const int levels = 6 + static_cast<int>(36.0 / mean);
    return mean * at.density[0] * exponential_integral(inverse_, mean, levels);
  }
  // x^q Gamma(shape, x) by its power series; of a shape near 0, two terms are nearly infinite.
  double term = mean;  // (-1)^n x^(k + 1 + n) / (k! n!)
  double rest = end.power * (pole_gamma_ - end.log_mean * growth(pole_shape_ * end.log_mean));
  for (int n = 1; n <= pole_count_; ++n) {
    term *= mean / n;
    rest /= n;
  }
  constexpr int kTerms = 24;
  for (int n = 1; n <= kTerms; ++n) {
    term *= -mean / n;
    const double added = term / (pole_shape_ + n);
    rest -= added;
    if (std::fabs(added) < 1e-12 * std::fabs(rest)) break;
  }
  for (int n = pole_count_; n > 0; --n) {
    rest = (rest - at.density[static_cast<std::size_t>(n)]) * n / (n - inverse_);
  }
  return rest;
}

}  // namespace neuroshard
