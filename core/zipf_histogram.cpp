#include "neuroshard/zipf_histogram.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "neuroshard/error.h"

namespace neuroshard {
namespace {

/// Neighbouring ranks that are treated alike.
struct RankGroup {
  double ranks;
  double popularity;  ///< Mean of r^-exponent over the group.
};

/// Integral of x^-s from a to b, also for s near 1, where the closed form loses its digits.
double integrate_power(double a, double b, double s) {
  const double log_ratio = std::log(b / a);
  const double z = (1.0 - s) * log_ratio;
  const double growth = std::fabs(z) < 1e-8 ? 1.0 + z / 2.0 : std::expm1(z) / z;
  return std::pow(a, 1.0 - s) * log_ratio * growth;
}

/// Ranks 1 to 1024 one by one, beyond that groups of 1/128 of their rank: within a group popularity
/// differs by 0.8 %, and the errors to both sides of the mean cancel.
std::vector<RankGroup> group_ranks(std::int64_t rows, double exponent) {
  constexpr std::int64_t kSingleRanks = 1024;
  constexpr std::int64_t kGroupsPerDoubling = 128;
  std::vector<RankGroup> groups;
  for (std::int64_t rank = 1; rank <= std::min(rows, kSingleRanks); ++rank) {
    groups.push_back({1.0, std::pow(static_cast<double>(rank), -exponent)});
  }
  for (std::int64_t first = kSingleRanks + 1; first <= rows;) {
    const std::int64_t end = std::min(rows + 1, first + first / kGroupsPerDoubling);
    const auto ranks = static_cast<double>(end - first);
    const double sum =
        integrate_power(static_cast<double>(first) - 0.5, static_cast<double>(end) - 0.5, exponent);
    groups.push_back({ranks, sum / ranks});
    first = end;
  }
  return groups;
}

/// 0, and the highest access count of every bin but the last: 1, 2, 4, ..., 32768.
struct BinEdges {
  std::array<int, kHistogramBins> count{};
  std::array<double, kHistogramBins> log_factorial{};

  BinEdges() {
    double sum = 0.0;
    int next = 1;
    for (int bin = 1; bin < kHistogramBins; ++bin) {
      count[bin] = 1 << (bin - 1);
      for (; next <= count[bin]; ++next) sum += std::log(static_cast<double>(next));
      log_factorial[bin] = sum;
    }
  }
};

/// P(X > k) of a Poisson variable with this mean.
double poisson_above(double mean, double log_mean, int k, double log_factorial) {
  if (k == 0) return -std::expm1(-mean);
  constexpr double kNegligible = -60.0;
  const double log_probability = k * log_mean - mean - log_factorial;
  const bool above = mean > k;  // Sum the side with fewer terms.
  if (log_probability < kNegligible) return above ? 1.0 : 0.0;
  double sum = 0.0;
  double term = std::exp(log_probability);  // P(X = k)
  if (above) {
    for (int i = k; i >= 0 && term > 1e-17 * sum; --i) {
      sum += term;
      term *= i / mean;
    }
    return std::max(0.0, 1.0 - sum);
  }
  for (int i = k + 1;; ++i) {
    term *= mean / i;
    sum += term;
    if (term <= 1e-17 * sum) return sum;
  }
}

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
  static const BinEdges edges;

  const std::vector<RankGroup> groups = group_ranks(rows, exponent);
  double popularity = 0.0;
  for (const RankGroup& group : groups) popularity += group.ranks * group.popularity;
  const double scale = pooling_factor * batch / popularity;

  // rows_above[i]: expected number of rows looked up more than edges.count[i] times.
  std::array<double, kHistogramBins> rows_above{};
  for (const RankGroup& group : groups) {
    const double mean = scale * group.popularity;
    if (mean <= 0.0) continue;
    const double log_mean = std::log(mean);
    for (int i = 0; i < kHistogramBins; ++i) {
      const double share = poisson_above(mean, log_mean, edges.count[i], edges.log_factorial[i]);
      if (share == 0.0) break;  // Higher counts do not occur either.
      rows_above[i] += group.ranks * share;
    }
  }
  std::array<double, kHistogramBins> histogram{};
  if (rows_above[0] <= 0.0) return histogram;
  for (int bin = 0; bin < kHistogramBins; ++bin) {
    const double higher = bin + 1 < kHistogramBins ? rows_above[bin + 1] : 0.0;
    histogram[bin] = std::max(0.0, rows_above[bin] - higher) / rows_above[0];
  }
  return histogram;
}

}  // namespace neuroshard
