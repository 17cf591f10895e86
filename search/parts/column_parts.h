#pragma once

#include "neuroshard/task.h"

namespace neuroshard {

/// How many slices of columns rules let `table` have.
[[nodiscard]] int most_column_parts(const Table& table);

/// Columns of the widest one of so many, if all are about equally wide: whatever has no room for
/// that has none for the table, however it is cut by columns.
[[nodiscard]] int narrowest_columns(const Table& table);

/// Whether halves of `table` can take the place of slices of any widths that rules allow: it is not
/// cut, or to single units of columns, which then take as much as wider slices.
[[nodiscard]] bool halves_are_all(const Table& table);

}  // namespace neuroshard
