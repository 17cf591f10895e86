#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace neuroshard::bench {

/// Analytic times of a term over measured ones.
struct TermAccuracy {
  std::string term;
  std::size_t measurements = 0;
  double mean = 0.0;    ///< Geometric.
  double spread = 0.0;  ///< geometric_spread().
  double least = 0.0;
  double most = 0.0;
};

/// A measurement that has an analytic time.
struct TermRatio {
  std::string term;
  double analytic_over_measured = 0.0;
};

/// By term, in the order in which they come.
[[nodiscard]] std::vector<TermAccuracy> accuracy_by_term(std::span<const TermRatio> ratios);

struct AccuracyLimits {
  double least_mean = 0.9;
  double most_mean = 1.1;
  double most_spread = 1.3;

  [[nodiscard]] bool hold(const TermAccuracy& accuracy) const;
  [[nodiscard]] std::string str() const;  ///< "0.9 to 1.1, x1.3"
};

/// Terms that are not within the usual limits: that of a name, or all whose names begin with it.
struct TermException {
  std::string_view term;
  AccuracyLimits limits;
  std::string_view reason;
};
[[nodiscard]] std::span<const TermException> term_exceptions();

/// A term has those of its exception, else the usual ones.
[[nodiscard]] AccuracyLimits limits_of(std::string_view term);

/// Fewer measurements say too little of a term to be held to limits.
inline constexpr std::size_t kFewestJudged = 4;

}  // namespace neuroshard::bench
