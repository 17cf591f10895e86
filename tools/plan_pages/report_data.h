#pragma once

#include <string>

#include "neuroshard/plan_file.h"

namespace neuroshard::tools {

/// Data that the report's script draws, as JSON in which no `<` occurs, so that nothing in it can
/// end the element that holds it:
///
///     devices_per_node
///     devices  {terms: shown_terms() by name, in ms; weights, optimizer, buffers, reserved, free:
///              bytes; slices}, each an array [devices]
///     tables   {name, dim, rows}, each an array [tables]
///     slices   {table, device, first_column, dim, first_row, rows, bytes}, each an array, in the
///              order of devices; before them replicas, whose device is -1 and bytes are of a
///              device
///     moves    {table, first_column, dim, from, to, bytes} of a plan near to one that runs
[[nodiscard]] std::string report_data(const PlanDocument& document);

}  // namespace neuroshard::tools
