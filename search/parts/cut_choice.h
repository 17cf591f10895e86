#pragma once

#include <cstdint>
#include <vector>

#include "neuroshard/plan.h"
#include "neuroshard/task.h"
#include "search/parts/partial_task.h"

namespace neuroshard {

/// Tables that a search by halving columns is not to decide on; none: it plans the whole task.
struct CutChoice {
  std::vector<std::uint32_t> replicas;  ///< These tables are replicated,
  std::vector<std::uint32_t> row_wise;  ///< and these, if they are not, row-wise;
  /// but these, ascending, if they are not replicated, in row blocks on the devices of a node.
  std::vector<std::uint32_t> node_blocks;
  double parts_share = 0.0;  ///< Of with_column_parts(); 0: no table is cut so.
  /// By ascending tables, those that are cut to parts of such widths; if there are any, no others.
  std::vector<TableWidths> widths;

  friend bool operator==(const CutChoice&, const CutChoice&) = default;
};

/// Tables that `plan` has in other ways than slices of columns; without widths.
[[nodiscard]] CutChoice choice_of(const Task& task, const Plan& plan);

}  // namespace neuroshard
