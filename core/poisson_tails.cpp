#include "core/poisson_tails.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>

namespace neuroshard {
namespace {

constexpr std::size_t kSmallCounts = 6;   ///< 0 to 16, whose terms are few enough to be added up.
constexpr double kFewest = 0.5;           ///< Up to this mean the tail itself is added up.
constexpr double kNoSmallCounts = 100.0;  ///< From this mean on: P(X > 16) is 1.
constexpr double kNoLargeCounts = 4.0;    ///< Up to this mean: P(X > 32) is 0.

struct LargeCount {
  double a;  ///< k + 1
  double log_a;
  double density_scale;  ///< 1 / sqrt(2 pi a)
  double at_scale;       ///< a / (1 + 1 / (12 a)), from Stirling's series for a!
};

struct Counts {
  std::array<int, kHistogramBins> k{};
  std::array<LargeCount, kHistogramBins> large{};

  Counts() {
    for (std::size_t bin = 1; bin < k.size(); ++bin) {
      k[bin] = 1 << (bin - 1);
      const double a = k[bin] + 1.0;
      large[bin] = {a, std::log(a), 1.0 / std::sqrt(2.0 * std::numbers::pi * a),
                    a / (1.0 + 1.0 / (12.0 * a))};
    }
  }
};

const Counts& counts() {
  static const Counts all;
  return all;
}

/// c[0] + c[1] x + c[2] x^2 + ...
template <std::size_t kSize>
double polynomial(const std::array<double, kSize>& c, double x) {
  double value = 0.0;
  for (std::size_t i = kSize; i-- > 0;) value = value * x + c[i];
  return value;
}

/// The first three terms of Temme's expansion by 1 / a (DLMF 8.12.7 to 8.12.10), each by powers of
/// eta. `distance` is mean / a - 1.
double expansion(double a, double eta, double distance) {
  constexpr std::array kZeroth = {-1.0 / 3.0,  1.0 / 12.0,   -2.0 / 135.0,
                                  1.0 / 864.0, 1.0 / 2835.0, -139.0 / 777600.0};
  constexpr std::array kFirst = {-1.0 / 540.0, -1.0 / 288.0, 1.0 / 378.0, -77.0 / 77760.0};
  constexpr std::array kSecond = {25.0 / 6048.0, -139.0 / 51840.0};
  constexpr double kNear = 0.3;  // Farther away the closed form of the first has all its digits.
  const double first =
      std::fabs(eta) > kNear ? 1.0 / distance - 1.0 / eta : polynomial(kZeroth, eta);
  return first + (polynomial(kFirst, eta) + polynomial(kSecond, eta) / a) / a;
}

}  // namespace

void PoissonTails::add(double mean, double log_mean, double weight, double slope) {
  if (mean <= kFewest) return add_of_small_mean(mean, weight, slope);
  if (mean < kNoSmallCounts) {
    add_small_counts(mean, weight, slope);
  } else {
    for (std::size_t bin = 0; bin < kSmallCounts; ++bin) sums_[bin] += weight;
  }
  if (mean > kNoLargeCounts) add_large_counts(mean, log_mean, weight, slope);
}

void PoissonTails::add_above_all(double weight) {
  for (double& sum : sums_) sum += weight;
}

// From the last term to the first: less 1, P(X <= k) would have no digits left.
void PoissonTails::add_of_small_mean(double mean, double weight, double slope) {
  constexpr int kTerms = 14;  // P(X = 14) is below 1e-15.
  constexpr std::size_t kBins = 5;
  std::array<double, kTerms> term{};  // P(X = n)
  term[0] = std::exp(-mean);
  for (int n = 1; n < kTerms; ++n) term[n] = term[n - 1] * mean * (1.0 / n);
  double above = 0.0;
  int n = kTerms - 1;
  for (std::size_t bin = kBins; bin-- > 0;) {
    const int k = bin == 0 ? 0 : 1 << (bin - 1);
    for (; n > k; --n) above += term[n];
    sums_[bin] += weight * above + slope * term[k];
  }
}

void PoissonTails::add_small_counts(double mean, double weight, double slope) {
  double term = std::exp(-mean);  // P(X = n)
  double up_to = term;            // P(X <= n)
  int n = 0;
  for (std::size_t bin = 0; bin < kSmallCounts; ++bin) {
    const int k = bin == 0 ? 0 : 1 << (bin - 1);
    while (n < k) {
      term *= mean / ++n;
      up_to += term;
    }
    sums_[bin] += weight * (1.0 - up_to) + slope * term;
  }
}

// P(X > k) is the regularised incomplete gamma function P(k + 1, mean).
void PoissonTails::add_large_counts(double mean, double log_mean, double weight, double slope) {
  constexpr double kNegligible = 45.0;
  for (std::size_t bin = kSmallCounts; bin < sums_.size(); ++bin) {
    const auto& [a, log_a, density_scale, at_scale] = counts().large[bin];
    const double distance = mean / a - 1.0;
    const double half_eta_squared = std::max(0.0, distance - (log_mean - log_a));
    const double exponent = a * half_eta_squared;
    if (exponent > kNegligible) {
      if (distance < 0.0) return;  // Nor are there higher counts.
      sums_[bin] += weight;
      continue;
    }
    const double eta = std::copysign(std::sqrt(2.0 * half_eta_squared), distance);
    const double density = std::exp(-exponent) * density_scale;
    const double above = 0.5 * std::erfc(std::copysign(std::sqrt(exponent), -distance)) -
                         density * expansion(a, eta, distance);
    sums_[bin] += weight * above + slope * density * at_scale / mean;
  }
}

}  // namespace neuroshard
