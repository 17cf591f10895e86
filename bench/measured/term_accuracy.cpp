#include "bench/measured/term_accuracy.h"

#include <algorithm>
#include <utility>

#include "bench/markdown_table.h"
#include "bench/statistics.h"

namespace neuroshard::bench {
namespace {

constexpr TermException kTermExceptions[] = {
    {"all-to-all in node < 1 MiB",
     {.most_spread = 1.75},
     "measurements of neighbouring sizes scatter by 1.7 times"},
    {"all-reduce in node < 1 MiB",
     {.most_spread = 1.6},
     "measurements of neighbouring sizes scatter by 1.5 times"},
    {"all-reduce on 2 nodes < 64 MiB",
     {.least_mean = 0.4, .most_spread = 2.3},
     "the network of A3 Mega takes 3 to 6 times as long at 1 to 64 MiB as its rate says"},
    {"all-reduce on 2 nodes >= 64 MiB",
     {.least_mean = 0.65, .most_spread = 1.6},
     "the network of A3 Mega reaches its rate from 1 GiB on"},
};

}  // namespace

std::vector<TermAccuracy> accuracy_by_term(std::span<const TermRatio> ratios) {
  std::vector<std::pair<std::string, std::vector<double>>> terms;
  for (const TermRatio& one : ratios) {
    auto term = std::ranges::find(terms, one.term, [](const auto& other) { return other.first; });
    if (term == terms.end()) {
      terms.push_back({one.term, {}});
      term = terms.end() - 1;
    }
    term->second.push_back(one.analytic_over_measured);
  }
  std::vector<TermAccuracy> accuracies;
  accuracies.reserve(terms.size());
  for (const auto& [term, values] : terms) {
    accuracies.push_back({.term = term,
                          .measurements = values.size(),
                          .mean = geometric_mean(values),
                          .spread = geometric_spread(values),
                          .least = std::ranges::min(values),
                          .most = std::ranges::max(values)});
  }
  return accuracies;
}

bool AccuracyLimits::hold(const TermAccuracy& accuracy) const {
  return accuracy.mean >= least_mean && accuracy.mean <= most_mean &&
         accuracy.spread <= most_spread;
}

std::string AccuracyLimits::str() const {
  return three_digits(least_mean) + " to " + three_digits(most_mean) + ", x" +
         three_digits(most_spread);
}

std::span<const TermException> term_exceptions() { return kTermExceptions; }

AccuracyLimits limits_of(std::string_view term) {
  const auto* exception = std::ranges::find_if(
      kTermExceptions, [&](const TermException& one) { return term.starts_with(one.term); });
  return exception == std::end(kTermExceptions) ? AccuracyLimits{} : exception->limits;
}

}  // namespace neuroshard::bench
