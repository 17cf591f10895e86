#include "weights/lookups/zipf_lookups.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace neuroshard {
namespace {

/// (exp(x) - 1) / x
double expm1_over(double x) { return std::abs(x) > 1e-8 ? std::expm1(x) / x : 1.0 + x / 2.0; }
/// log(1 + x) / x
double log1p_over(double x) { return std::abs(x) > 1e-8 ? std::log1p(x) / x : 1.0 - x / 2.0; }

}  // namespace

ZipfRanks::ZipfRanks(std::int64_t ranks, double exponent)
    : ranks_(static_cast<double>(ranks)),
      exponent_(exponent),
      first_(integral(1.5) - 1.0),
      last_(integral(ranks_ + 0.5)),
      accepted_(2.0 - rank_of_integral(integral(2.5) - density(2.0))) {}

double ZipfRanks::density(double rank) const { return std::pow(rank, -exponent_); }

double ZipfRanks::integral(double rank) const {
  const double logarithm = std::log(rank);
  return expm1_over((1.0 - exponent_) * logarithm) * logarithm;
}

double ZipfRanks::rank_of_integral(double value) const {
  const double power = std::max(-1.0, value * (1.0 - exponent_));
  return std::exp(log1p_over(power) * value);
}

std::int64_t ZipfRanks::draw(Random& random) const {
  while (true) {
    const double value = last_ + random.uniform() * (first_ - last_);
    const double drawn = rank_of_integral(value);
    const double rank = std::clamp(std::round(drawn), 1.0, ranks_);
    if (rank - drawn <= accepted_ || value >= integral(rank + 0.5) - density(rank)) {
      return static_cast<std::int64_t>(rank);
    }
  }
}

ZipfLookups::ZipfLookups(std::int64_t rows, double exponent, double drift)
    : ranks_(rows, exponent), swaps_(std::llround(drift * static_cast<double>(rows) / 2.0)) {
  ScatteredRows scattered(rows);
  rows_.reserve(static_cast<std::size_t>(rows));
  for (std::int64_t rank = 0; rank < rows; ++rank) rows_.push_back(scattered.next());
}

AccessStream ZipfLookups::batch(std::int64_t lookups, std::int64_t samples, Random& random) {
  for (std::int64_t i = 0; i < swaps_ && !first_; ++i) {
    const std::uint64_t a = random.below(rows_.size());
    const std::uint64_t b = random.below(rows_.size());
    std::swap(rows_[a], rows_[b]);
  }
  first_ = false;
  AccessStream stream;
  stream.indices.reserve(static_cast<std::size_t>(lookups));
  for (std::int64_t i = 0; i < lookups; ++i) {
    stream.indices.push_back(rows_[static_cast<std::size_t>(ranks_.draw(random) - 1)]);
  }
  stream.offsets = random_offsets(lookups, samples, random);
  return stream;
}

}  // namespace neuroshard
