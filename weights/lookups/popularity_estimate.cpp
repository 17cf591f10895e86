#include "weights/lookups/popularity_estimate.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/tables/row_popularity.h"

namespace neuroshard {
namespace {

/// Rows with more touches are as popular as they seem.
constexpr std::size_t kMostTouches = 48;
/// Rates of the mixture are so far apart, from kRarest to some deviations beyond kMostTouches.
constexpr double kStepOfRates = 1.15;
constexpr double kHighestRate = 64.0;
constexpr int kRounds = 300;
/// Groups of fewer rows, and points that are closer, are left out.
constexpr double kFewestRows = 1e-3;
/// A weight falls at most so far in a round.
constexpr double kLeastPart = 0.01;

/// Rows that are alike.
struct RowGroup {
  double rows;
  double lookups;  ///< Each has so many in the log.
};

/// Rows by how often a log looks them up, up to kMostTouches.
using Touches = std::array<double, kMostTouches + 1>;

/// The mixture of Poisson distributions that makes counts of touches most likely. They are known
/// from `first` on: 0, or 1 if nobody knows how many rows were never touched.
class PoissonMixture {
 public:
  PoissonMixture(const Touches& rows, std::size_t first) : rows_(rows), first_(first) {
    for (const double of_count : rows) all_ += of_count;
    add_rate(kRarest);
    while (rates_.back().mean < kHighestRate) add_rate(rates_.back().mean * kStepOfRates);
    weights_.assign(rates_.size(), 1.0 / static_cast<double>(rates_.size()));
    for (int round = 0; round < kRounds; ++round) improve();
  }

  /// Rows with fewer touches than `first`.
  [[nodiscard]] double unseen() const {
    double rows = 0.0;
    for (std::size_t i = 0; i < rates_.size(); ++i) rows += weights_[i] * all_ * rates_[i].unseen;
    return rows;
  }

  void add_to(std::vector<RowGroup>& groups) const {
    for (std::size_t i = 0; i < rates_.size(); ++i) {
      const double rows = weights_[i] * all_ * (1.0 + rates_[i].unseen);
      if (rows > kFewestRows) groups.push_back({rows, rates_[i].mean});
    }
  }

 private:
  using Weights = std::vector<double>;
  struct Rate {
    double mean;
    Touches shares;  ///< Poisson's distribution of the counts that are known.
    double unseen;   ///< Rows with fewer lookups, for each row with so many.
  };

  void add_rate(double mean) {
    Touches shares{};
    double share = std::exp(-mean);
    double known = 0.0;
    double unseen = 0.0;
    for (std::size_t n = 0; n <= kMostTouches; ++n) {
      (n < first_ ? unseen : known) += share;
      if (n >= first_) shares[n] = share;
      share *= mean / static_cast<double>(n + 1);
    }
    for (double& of_count : shares) of_count /= known;
    rates_.push_back({mean, shares, unseen / known});
  }

  /// A step of expectation and maximisation; returns the logarithm of the likelihood before it.
  double step(Weights& weights) const {
    Touches factors{};  // Likelihoods, then rows over them.
    for (std::size_t i = 0; i < rates_.size(); ++i) {
      for (std::size_t n = first_; n <= kMostTouches; ++n) {
        factors[n] += weights[i] * rates_[i].shares[n];
      }
    }
    double likelihood = 0.0;
    for (std::size_t n = first_; n <= kMostTouches; ++n) {
      if (rows_[n] > 0.0) likelihood += rows_[n] * std::log(factors[n]);
      factors[n] = rows_[n] > 0.0 ? rows_[n] / factors[n] : 0.0;
    }
    for (std::size_t i = 0; i < rates_.size(); ++i) {
      double rows = 0.0;
      for (std::size_t n = first_; n <= kMostTouches; ++n) rows += rates_[i].shares[n] * factors[n];
      weights[i] *= rows / all_;
    }
    return likelihood;
  }

  /// Two steps, and further in their direction if that is better (Varadhan, Roland: Simple and
  /// globally convergent methods for accelerating the convergence of any EM algorithm, 2008).
  void improve() {
    Weights once = weights_;
    step(once);
    Weights twice = once;
    step(twice);
    double first_squares = 0.0;
    double second_squares = 0.0;
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      first_squares += std::pow(once[i] - weights_[i], 2);
      second_squares += std::pow(twice[i] - 2.0 * once[i] + weights_[i], 2);
    }
    if (second_squares == 0.0) return;
    const double length = std::sqrt(first_squares / second_squares);
    Weights further(weights_.size());
    double sum = 0.0;
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      const double change = once[i] - weights_[i];
      const double bend = twice[i] - 2.0 * once[i] + weights_[i];
      const double moved = weights_[i] + 2.0 * length * change + length * length * bend;
      sum += further[i] = std::max(moved, kLeastPart * twice[i]);
    }
    for (double& weight : further) weight /= sum;
    Weights reference = twice;
    const double likelihood = step(reference);
    weights_ = step(further) >= likelihood ? further : reference;
  }

  const Touches& rows_;
  std::size_t first_;
  double all_ = 0.0;
  std::vector<Rate> rates_;
  Weights weights_;
};

/// Rows that a log seldom or never looks up, if it has not seen `unknown` rows of a table.
void add_seldom_touched(Touches& seen, double unknown, std::vector<RowGroup>& groups) {
  if (std::ranges::all_of(seen, [](double rows) { return rows == 0.0; })) return;
  const PoissonMixture mixture(seen, 1);
  if (mixture.unseen() <= unknown) {
    mixture.add_to(groups);
    return;
  }
  seen[0] = unknown;  // All of them are looked up at times.
  PoissonMixture(seen, 0).add_to(groups);
}

}  // namespace

std::vector<PopularRows> estimated_popularity(
    const std::map<std::uint32_t, std::int64_t>& rows_by_touches, std::int64_t rows) {
  std::vector<RowGroup> groups;
  Touches seldom{};
  auto unknown = static_cast<double>(rows);
  for (const auto& [touches, count] : rows_by_touches) {
    const auto known = static_cast<double>(count);
    unknown -= known;
    if (touches <= kMostTouches) {
      seldom[touches] = known;
    } else {
      groups.push_back({known, static_cast<double>(touches)});
    }
  }
  add_seldom_touched(seldom, unknown, groups);
  std::ranges::stable_sort(groups, std::ranges::greater{}, &RowGroup::lookups);

  double all_rows = 0.0;
  double all_lookups = 0.0;
  for (const RowGroup& group : groups) {
    all_rows += group.rows;
    all_lookups += group.rows * group.lookups;
  }
  std::vector<PopularRows> curve;
  double rank = 0.0;
  double lookups = 0.0;
  double next = next_curve_rank(0.0, all_rows);
  const auto add_point = [&](double at, double sum) {
    if (!curve.empty() && at <= curve.back().rows + kFewestRows) return;
    curve.push_back({at, sum / all_lookups});
  };
  for (const RowGroup& group : groups) {
    const double end = rank + group.rows;
    while (next < std::min(end, all_rows)) {
      add_point(next, lookups + (next - rank) * group.lookups);
      next = next_curve_rank(next, all_rows);
    }
    rank = end;
    lookups += group.rows * group.lookups;
    // Groups of rows that are seldom looked up are large, and each has a point of its own.
    if (group.lookups <= kHighestRate) add_point(rank, lookups);
  }
  if (rank == 0.0) return curve;
  add_point(rank, all_lookups);
  curve.back() = {std::min(rank, static_cast<double>(rows)), 1.0};
  return curve;
}

}  // namespace neuroshard
