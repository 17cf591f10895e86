#pragma once

#include <optional>
#include <vector>

#include "neuroshard/backend.h"
#include "neuroshard/plan.h"
#include "neuroshard/task.h"
#include "search/parts/partial_task.h"

namespace neuroshard {

/// How many slices of columns rules let `table` have.
[[nodiscard]] int most_column_parts(const Table& table);

/// Columns of the widest one of so many, if all are about equally wide: whatever has no room for
/// that has none for the table, however it is cut by columns.
[[nodiscard]] int narrowest_columns(const Table& table);

/// Columns of the narrowest slice that halving or such parts make of `table`.
[[nodiscard]] int narrowest_part(const Table& table);

/// Whether halves of `table` can take the place of slices of any widths that rules allow: it is not
/// cut, or to single units of columns, which then take as much as wider slices.
[[nodiscard]] bool halves_are_all(const Table& table);

/// `part` with some tables cut to parts of about equal width beforehand, for the search by columns
/// halves tables and some cannot be halved (dims 100, 36, 20), or not often enough. Those are cut
/// whose narrowest slice takes longer than `share` of what a device has to do on average, or is
/// larger than every device. `equal_widths`: a table's parts are, and stay, equally wide. Nothing
/// if there is no such table.
[[nodiscard]] std::optional<PartialTask> with_column_parts(const Backend& backend,
                                                           const PartialTask& part, double share,
                                                           bool equal_widths);

/// `part`, whose tables are not in parts, with some tables cut to parts of these widths: those of
/// `widths` that it has. Nothing if it has none.
[[nodiscard]] std::optional<PartialTask> with_parts_of_widths(
    const PartialTask& part, const std::vector<TableWidths>& widths, bool equal_widths);

/// Makes one slice of all that a device has of a table that `part` has in parts. All columns cost
/// alike, so each device gets the same number of them as before, but maybe others. Tables that
/// `plan` cuts by rows, too, stay as they are. `task`: the whole one.
void join_column_parts(const Task& task, const PartialTask& part, Plan& plan);

}  // namespace neuroshard
