#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "neuroshard/task.h"

namespace neuroshard {

/// Table::popularity of a table of so many rows, from how many of them a log looks up how often.
/// Rows that are looked up seldom seem more unequal than they are, and some not at all: their
/// popularity is the mixture of Poisson distributions that makes these counts most likely (Laird:
/// Nonparametric maximum likelihood estimation of a mixing distribution, 1978). Rows that are
/// looked up less than kRarest times in a log are taken for fewer that are looked up so often.
/// Empty if nothing is looked up. docs/collecting.md has the formulas.
[[nodiscard]] std::vector<PopularRows> estimated_popularity(
    const std::map<std::uint32_t, std::int64_t>& rows_by_touches, std::int64_t rows);

/// Lookups in the log of the rarest rows that an estimate knows of.
inline constexpr double kRarest = 0.2;

}  // namespace neuroshard
