#include "bench/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace neuroshard::bench {
namespace {

std::vector<double> sorted(std::span<const double> values) {
  std::vector<double> copy(values.begin(), values.end());
  std::sort(copy.begin(), copy.end());
  return copy;
}

}  // namespace

double percentile(std::span<const double> values, double percent) {
  const std::vector<double> ordered = sorted(values);
  const double rank = std::ceil(percent / 100.0 * static_cast<double>(ordered.size()));
  const auto index = static_cast<std::size_t>(std::max(rank, 1.0)) - 1;
  return ordered[std::min(index, ordered.size() - 1)];
}

double median(std::span<const double> values) {
  const std::vector<double> ordered = sorted(values);
  const std::size_t middle = ordered.size() / 2;
  if (ordered.size() % 2 == 1) return ordered[middle];
  return (ordered[middle - 1] + ordered[middle]) / 2.0;
}

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double geometric_mean(std::span<const double> values) {
  double sum = 0.0;
  for (const double value : values) sum += std::log(value);
  return std::exp(sum / static_cast<double>(values.size()));
}

double geometric_spread(std::span<const double> values) {
  const double log_mean = std::log(geometric_mean(values));
  double sum = 0.0;
  for (const double value : values) sum += std::pow(std::log(value) - log_mean, 2.0);
  return std::exp(std::sqrt(sum / static_cast<double>(values.size())));
}

double relative_spread(std::span<const double> values) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return (*high - *low) / median(values);
}

std::vector<double> median_of_rounds(const std::vector<std::vector<double>>& rounds) {
  std::vector<double> medians;
  std::vector<double> column(rounds.size());
  for (std::size_t i = 0; i < rounds.front().size(); ++i) {
    for (std::size_t round = 0; round < rounds.size(); ++round) column[round] = rounds[round][i];
    medians.push_back(median(column));
  }
  return medians;
}

}  // namespace neuroshard::bench
