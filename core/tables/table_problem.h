#pragma once

#include <optional>
#include <string>
#include <vector>

#include "neuroshard/task.h"

namespace neuroshard {

/// Message of validate() about the table, without the place, if there is one. No text is put
/// together for a good table, of which a task may have many.
[[nodiscard]] std::optional<std::string> problem_of(const Table& table);

/// The part of it that is about Table::row_shares.
[[nodiscard]] std::optional<std::string> row_shares_problem_of(const std::vector<double>& shares);

}  // namespace neuroshard
