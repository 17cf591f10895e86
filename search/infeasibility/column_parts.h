#pragma once

#include "neuroshard/task.h"

namespace neuroshard {

/// Columns of the widest slice if `table` has as many as its rules allow, all about equally wide:
/// whatever has no room for that has none for the table, however it is cut by columns.
[[nodiscard]] int narrowest_columns(const Table& table);

/// Whether halves of `table` can take the place of slices of any widths that rules allow: it is not
/// cut, or to single units of columns, which then take as much as wider slices.
[[nodiscard]] bool halves_are_all(const Table& table);

}  // namespace neuroshard
