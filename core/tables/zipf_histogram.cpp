#include "neuroshard/zipf_histogram.h"

#include <cmath>
#include <string>

#include "core/base/message_text.h"
#include "core/tables/row_popularity.h"
#include "core/tables/zipf_law.h"
#include "neuroshard/error.h"

namespace neuroshard {
namespace {

void require(bool good, const char* where, const char* what, double value, const char* remedy) {
  if (!good) {
    throw Error(std::string(where) + ": " + what + " is " + shortest_text(value) + "; give " +
                remedy);
  }
}

void require_rows_and_exponent(const char* where, std::int64_t rows, double exponent) {
  require(rows >= 1 && rows <= kMaxRows, where, "row", static_cast<double>(rows), "1 to 2^40");
  require(exponent >= 0.0 && exponent <= 16.0, where, "zipf_exponent", exponent,
          "a number between 0 and 16");
}

/// Sum of r^-exponent over the ranks after `first` up to `last`, by the integral over [r - 1/2,
/// r + 1/2].
double popularity_between(double first, double last, double exponent) {
  const double from = first + 0.5;
  const double to = last + 0.5;
  const double power = 1.0 - exponent;
  // The difference of powers, which is exact where the power is next to 0.
  const double logarithm = std::log(to / from);
  if (std::abs(power * logarithm) < 1e-9) return logarithm * std::pow(from, power);
  return std::pow(from, power) * std::expm1(power * logarithm) / power;
}

}  // namespace

std::array<double, kHistogramBins> zipf_histogram(std::int64_t rows, double pooling_factor,
                                                  double exponent, std::int64_t batch_size) {
  constexpr auto kMost = static_cast<double>(kMaxRows);
  const auto batch = static_cast<double>(batch_size);
  constexpr const char* kWhere = "access histogram";
  require_rows_and_exponent(kWhere, rows, exponent);
  require(pooling_factor >= 0.0 && pooling_factor <= kMost, kWhere, "pooling_factor",
          pooling_factor, "a number between 0 and 2^40");
  require(batch_size >= 1 && batch <= kMost, kWhere, "batch size", batch, "1 to 2^40");

  return ZipfLaw(exponent).histogram(static_cast<double>(rows), pooling_factor * batch);
}

std::vector<PopularRows> zipf_popularity(std::int64_t rows, double exponent) {
  require_rows_and_exponent("popularity", rows, exponent);
  std::vector<PopularRows> curve;
  const auto all = static_cast<double>(rows);
  double rank = 0.0;
  double sum = 0.0;
  while (rank < all) {
    const double next = next_curve_rank(rank, all);
    sum +=
        next == rank + 1.0 ? std::pow(next, -exponent) : popularity_between(rank, next, exponent);
    curve.push_back({next, sum});
    rank = next;
  }
  for (PopularRows& point : curve) point.share /= sum;
  return curve;
}

}  // namespace neuroshard
