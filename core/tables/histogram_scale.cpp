#include "neuroshard/histogram_scale.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "core/tables/access_statistics.h"
#include "neuroshard/error.h"

namespace neuroshard {
namespace {

// From so many touches on, their spread is far below the width of a bin and left out.
constexpr double kManyTouches = 200.0;
// Rows of a bin are taken to have so many different numbers of touches, or all there are.
constexpr int kTouchesOfBin = 12;
// Share of all rows: below it, rows that were touched once say nothing of those that were not.
constexpr double kFewestSingles = 1e-9;
// All devices' parts of a batch are at least two, or the one that there is.
constexpr double kMoreSamples = 1.5;

/// Touches of the rows of a bin, as frequent as 1/touches: evenly spread on a logarithmic scale.
struct BinTouches {
  std::vector<double> touches;
  std::vector<double> shares;
};

BinTouches touches_of(int bin) {
  const auto first = static_cast<double>(first_touches(bin));
  const double last = std::ldexp(1.0, bin);
  BinTouches spread;
  const int count = static_cast<int>(std::min<double>(last - first + 1.0, kTouchesOfBin));
  const bool all = count == static_cast<int>(last - first + 1.0);
  for (int i = 0; i < count; ++i) {
    const double touches =
        all ? first + i
            : std::round((first - 0.5) * std::pow((last + 0.5) / (first - 0.5), (i + 0.5) / count));
    spread.touches.push_back(touches);
    spread.shares.push_back(all ? 1.0 / touches : 1.0);
  }
  const double sum = std::accumulate(spread.shares.begin(), spread.shares.end(), 0.0);
  for (double& share : spread.shares) share /= sum;
  return spread;
}

/// Adds `rows` times the distribution of Binomial(trials, probability), but for 0.
void add_binomial(double trials, double probability, double rows, Histogram& shares) {
  const double mean = trials * probability;
  if (mean > kManyTouches) {
    shares[histogram_bin(std::llround(mean))] += rows;
    return;
  }
  // From the most frequent number in both directions, so that nothing underflows.
  const double mode = std::min(trials, std::floor((trials + 1.0) * probability));
  const double at_mode = std::exp(std::lgamma(trials + 1.0) - std::lgamma(mode + 1.0) -
                                  std::lgamma(trials - mode + 1.0) + mode * std::log(probability) +
                                  (trials - mode) * std::log1p(-probability));
  const double odds = probability / (1.0 - probability);
  constexpr double kNegligible = 1e-12;
  double density = at_mode;
  for (double j = mode; j >= 1.0 && density > kNegligible; --j) {
    shares[histogram_bin(std::llround(j))] += rows * density;
    density *= j / ((trials - j + 1.0) * odds);
  }
  density = at_mode;
  for (double j = mode; j < trials && density > kNegligible; ++j) {
    density *= (trials - j) / (j + 1.0) * odds;
    shares[histogram_bin(std::llround(j) + 1)] += rows * density;
  }
}

/// Rows whose rates of lookups follow a gamma distribution, seen through rows that are touched 1,
/// 2, ... times: their numbers are to each other as those of a negative binomial distribution of
/// shape r and q = scale / (1 + scale). Kept as (r + 1) q and q, which are finite also where all
/// rates are equal (q = 0).
struct RatesOfRareRows {
  double next = 0.0;  ///< (r + 1) q: mean rate of the rows that were touched once.
  double q = 0.0;

  /// From the shares of rows that are touched once, twice, and 3 or 4 times.
  static RatesOfRareRows fitted(const Histogram& shares) {
    RatesOfRareRows rates{2.0 * shares[1] / shares[0], 0.0};
    const double a = rates.next;
    if (a <= 0.0) return rates;
    const double linear = 4.0 + 3.0 * a;
    const double constant = 4.0 * a + a * a - 24.0 * shares[2] / shares[0] / a;
    if (constant < 0.0) {
      const double root = (std::sqrt(linear * linear - 8.0 * constant) - linear) / 4.0;
      rates.q = std::min(1.0, root);
    }
    return rates;
  }

  /// log(1 + q more) / q
  [[nodiscard]] double log_growth(double more) const {
    return q > 0.0 ? std::log1p(q * more) / q : more;
  }
  /// Mean rate of rows that were touched `touches` times.
  [[nodiscard]] double rate(double touches) const { return next + (touches - 1.0) * q; }
};

/// Adds rows that were touched `touches` times and are touched some more times, `first` of them
/// `touches + at` times, each further number (i rate_step + rate) / (i + 1) growth times as many,
/// where i counts from `at`.
void add_negative_binomial(double touches, double at, double first, double rate, double rate_step,
                           double growth, Histogram& shares) {
  constexpr double kMost = 32768.0;
  constexpr double kNegligible = 1e-9;
  double rows = first;
  double sum = 0.0;
  // Bin after bin: what is added up to stays in a register.
  for (double i = at; i < kMost;) {
    const int bin = histogram_bin(std::max<std::int64_t>(1, std::llround(touches + i)));
    const double end =
        bin == kHistogramBins - 1 ? kMost : std::min(kMost, std::ldexp(1.0, bin) - touches + 1.0);
    double of_bin = 0.0;
    bool negligible = false;
    for (; i < end && !negligible; ++i) {
      of_bin += rows;
      const double ratio = (i * rate_step + rate) / (i + 1.0) * growth;
      rows *= ratio;
      negligible = ratio < 1.0 && rows < kNegligible * (sum + of_bin) * (1.0 - ratio);
    }
    sum += of_bin;
    shares[bin] += of_bin;
    if (negligible) return;
  }
}

/// Beyond it the density at the lowest number of touches underflows; the spread is then small.
constexpr double kMostLogDecline = 500.0;

/// Adds `rows` rows that are all touched `touches` times.
void add_at(double touches, double rows, Histogram& shares) {
  shares[histogram_bin(std::max<std::int64_t>(1, std::llround(touches)))] += rows;
}

/// Moves all rows of a bin to `factor` times as many touches, spread on a logarithmic scale.
void add_shifted(int bin, double rows, double factor, Histogram& shares) {
  const double shift = std::log2(factor);
  const int whole = static_cast<int>(shift);
  const double part = shift - whole;
  shares[std::min(bin + whole, kHistogramBins - 1)] += rows * (1.0 - part);
  shares[std::min(bin + whole + 1, kHistogramBins - 1)] += rows * part;
}

}  // namespace

HistogramScale::HistogramScale(double samples, double of_samples)
    : of_samples_(of_samples), factor_(samples / of_samples) {
  for (const double number : {samples, of_samples}) {
    if (number > 0.0 && number <= static_cast<double>(kMaxBatchSize)) continue;
    throw Error("access histogram of " + std::to_string(number) +
                " samples; give a number above 0 and up to 2^40");
  }
  if (factor_ >= 1.0) return;
  for (int bin = 0; bin < kHistogramBins; ++bin) {
    const BinTouches spread = touches_of(bin);
    for (std::size_t i = 0; i < spread.touches.size(); ++i) {
      add_binomial(spread.touches[i], factor_, spread.shares[i], kept_[bin]);
    }
  }
}

Histogram HistogramScale::thinned(const Histogram& shares) const {
  Histogram result{};
  for (int from = 0; from < kHistogramBins; ++from) {
    for (int to = 0; to <= from; ++to) result[to] += shares[from] * kept_[from][to];
  }
  return result;
}

Histogram HistogramScale::grown(const Table& table) const {
  Histogram shares = table.access_histogram;
  normalize(shares);
  const double more = factor_ - 1.0;
  Histogram result{};
  if (shares[0] < kFewestSingles) {
    for (int bin = 0; bin < kHistogramBins; ++bin) add_shifted(bin, shares[bin], factor_, result);
    return result;
  }
  const RatesOfRareRows rates = RatesOfRareRows::fitted(shares);
  const double touched = access_profile(table, of_samples_).distinct_rows;
  const double untouched = (static_cast<double>(table.rows) - touched) / touched;

  // Rows that join. All unseen rows together are looked up `shares[0] * more` times.
  const double growth = more / (1.0 + rates.q * more);
  const double unseen_rate = rates.rate(0.0);
  const double decline = unseen_rate * rates.log_growth(more);
  Histogram joined{};
  if (decline > kMostLogDecline) {
    add_at(unseen_rate * more, shares[0] / unseen_rate, joined);
  } else {
    add_negative_binomial(0.0, 1.0, shares[0] * growth * std::exp(-decline), unseen_rate, rates.q,
                          growth, joined);
  }
  if (std::accumulate(joined.begin(), joined.end(), 0.0) > untouched) {
    // There are not so many: they are looked up evenly.
    joined = {};
    const double mean = untouched > 0.0 ? shares[0] * more / untouched : 0.0;
    if (mean > kManyTouches) {
      add_at(mean, untouched, joined);
    } else if (mean > 0.0) {
      add_negative_binomial(0.0, 1.0, untouched * mean * std::exp(-mean), mean, 0.0, 1.0, joined);
    }
  }
  for (int bin = 0; bin < kHistogramBins; ++bin) result[bin] += joined[bin];

  // Rows that were touched once to 4 times.
  const double threes = 4.0 / (4.0 + rates.rate(3.0));
  const std::array<double, 4> rare{shares[0], shares[1], shares[2] * threes,
                                   shares[2] * (1.0 - threes)};
  for (int i = 0; i < 4; ++i) {
    const double touches = i + 1.0;
    const double rate = rates.rate(touches);
    const double decline_of_rare = rate * rates.log_growth(more);
    if (decline_of_rare > kMostLogDecline) {
      add_at(touches + rate * more, rare[i], result);
    } else {
      add_negative_binomial(touches, 0.0, rare[i] * std::exp(-decline_of_rare), rate, rates.q,
                            growth, result);
    }
  }

  // The others share the lookups that are left, in proportion to those they had.
  double frequent = 0.0;
  for (int bin = 3; bin < kHistogramBins; ++bin) frequent += shares[bin] * mean_touches(bin);
  if (frequent <= 0.0) return result;
  const double factor = 1.0 + more * std::max(0.0, 1.0 - rare[3] * rates.rate(4.0) / frequent);
  for (int bin = 3; bin < kHistogramBins; ++bin) add_shifted(bin, shares[bin], factor, result);
  return result;
}

Histogram HistogramScale::operator()(const Table& table) const {
  const Histogram& shares = table.access_histogram;
  if (table.once_in_samples > 0.0) {
    return factor_ * of_samples_ > kMoreSamples * table.once_in_samples ? shares : Histogram{1.0};
  }
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  if (factor_ == 1.0 || sum <= 0.0 || table.pooling_factor <= 0.0) return shares;
  Histogram result = factor_ < 1.0 ? thinned(shares) : grown(table);
  if (std::accumulate(result.begin(), result.end(), 0.0) <= 0.0) return shares;
  normalize(result);
  return result;
}

}  // namespace neuroshard
