#include "core/tables/access_statistics.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

namespace neuroshard {
namespace {

std::array<double, kHistogramBins> make_mean_touches() {
  std::array<double, kHistogramBins> means{};
  for (int bin = 0; bin < kHistogramBins; ++bin) {
    const std::int64_t first = first_touches(bin);
    // The open bin is taken to be as wide as if there were one more.
    const std::int64_t last = std::int64_t{1} << bin;
    double weights = 0.0;
    for (std::int64_t touches = first; touches <= last; ++touches) {
      weights += 1.0 / static_cast<double>(touches);
    }
    means[bin] = static_cast<double>(last - first + 1) / weights;
  }
  return means;
}

}  // namespace

void normalize(Histogram& histogram) {
  const double sum = std::accumulate(histogram.begin(), histogram.end(), 0.0);
  for (double& share : histogram) share /= sum;
}

int histogram_bin(std::int64_t touches) {
  const int bin = std::bit_width(static_cast<std::uint64_t>(touches - 1));
  return std::min(bin, kHistogramBins - 1);
}

double mean_touches(int bin) {
  static const std::array<double, kHistogramBins> means = make_mean_touches();
  return means[bin];
}

AccessProfile access_profile(const Table& table, double samples) {
  return access_profile(table.rows, table.pooling_factor, table.access_histogram, samples);
}

AccessProfile access_profile(std::int64_t table_rows, double pooling_factor,
                             const Histogram& shares, double samples) {
  AccessProfile profile;
  profile.lookups = pooling_factor * samples;
  if (profile.lookups <= 0.0) return profile;

  const double rows = static_cast<double>(table_rows);
  if (std::accumulate(shares.begin(), shares.end(), 0.0) <= 0.0) {
    profile.distinct_rows = std::min(rows, profile.lookups);
    const double touches = profile.lookups / profile.distinct_rows;
    const int bin = histogram_bin(std::llround(touches));
    profile.rows[bin] = profile.distinct_rows;
    profile.touches[bin] = touches;
    return profile;
  }
  double share_sum = 0.0;
  double reuse = 0.0;
  for (int bin = 0; bin < kHistogramBins; ++bin) {
    share_sum += shares[bin];
    reuse += shares[bin] * mean_touches(bin);
  }
  reuse /= share_sum;
  // A table has no more rows than it has: then each is touched more often than its bin's mean.
  profile.distinct_rows = std::min(rows, profile.lookups / reuse);
  const double stretch = profile.lookups / (profile.distinct_rows * reuse);
  for (int bin = 0; bin < kHistogramBins; ++bin) {
    profile.rows[bin] = profile.distinct_rows * shares[bin] / share_sum;
    profile.touches[bin] = mean_touches(bin) * stretch;
  }
  return profile;
}

}  // namespace neuroshard
