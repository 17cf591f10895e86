#pragma once

#include <span>
#include <vector>

namespace neuroshard::bench {

// None of these accepts an empty span.

/// The smallest value that at least `percent` % of `values` do not exceed (nearest rank): always
/// one of them. `percent` in [0, 100].
[[nodiscard]] double percentile(std::span<const double> values, double percent);

/// Mean of the two middle values if their number is even.
[[nodiscard]] double median(std::span<const double> values);

[[nodiscard]] double mean(std::span<const double> values);

/// Requires positive values.
[[nodiscard]] double geometric_mean(std::span<const double> values);

/// exp of the standard deviation of the logarithms of positive values: the factor by which a value
/// is typically off the geometric mean. 1 if all are equal.
[[nodiscard]] double geometric_spread(std::span<const double> values);

/// (largest - smallest) / median: how far apart repeated measurements of one thing lie.
[[nodiscard]] double relative_spread(std::span<const double> values);

/// Middle of each column of `rounds`, e.g. one row a round, one column a task.
[[nodiscard]] std::vector<double> median_of_rounds(const std::vector<std::vector<double>>& rounds);

}  // namespace neuroshard::bench
