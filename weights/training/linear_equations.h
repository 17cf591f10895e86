#pragma once

#include <span>
#include <vector>

namespace neuroshard::training {

/// [rows][terms], as many terms in each row; there is one row at least.
using Rows = std::vector<std::vector<double>>;

/// Multiplies each term by a number that makes its mean square over `rows` 1; returns these
/// numbers. A term that is 0 in all rows has 0.
[[nodiscard]] std::vector<double> scale_terms(Rows& rows);

/// Factors with which the terms of each row add up to 1: ridge regression, whose `ridge` is added
/// to the mean square of each term. `weights`: how much the square of each row's error counts.
[[nodiscard]] std::vector<double> factors_for_1(const Rows& rows, std::span<const double> weights,
                                                double ridge);

}  // namespace neuroshard::training
