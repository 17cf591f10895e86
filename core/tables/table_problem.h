#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "neuroshard/task.h"

namespace neuroshard {

/// Message of validate() about the table, without the place, if there is one. No text is put
/// together for a good table, of which a task may have many.
[[nodiscard]] std::optional<std::string> problem_of(const Table& table);

/// Why a Table::access_histogram that somebody gives is none: its shares do not add up to 1.
[[nodiscard]] std::optional<std::string> histogram_problem_of(
    const std::array<double, kHistogramBins>& shares);
/// The part of problem_of() that is about Table::row_shares.
[[nodiscard]] std::optional<std::string> row_shares_problem_of(const std::vector<double>& shares);

}  // namespace neuroshard
