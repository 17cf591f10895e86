#pragma once

#include <algorithm>
#include <cstdint>

#include "neuroshard/plan.h"

namespace neuroshard {

// Rows of a table on several devices, as TorchRec shares them out: in blocks of equally many rows,
// of which the last has what is left. Few rows may leave nothing for the last devices.

[[nodiscard]] constexpr std::int64_t rows_of_block(std::int64_t rows, int devices) {
  return (rows + devices - 1) / devices;
}

/// Blocks that are not empty.
[[nodiscard]] constexpr int count_of_blocks(std::int64_t rows, int devices) {
  const std::int64_t of_block = rows_of_block(rows, devices);
  return static_cast<int>((rows + of_block - 1) / of_block);
}

/// Calls visit(block, device) for each block of all rows of `columns`, which has them, on `group`
/// devices from `first_device` on.
template <typename Visit>
void for_each_block(const TableSlice& columns, int first_device, int group, const Visit& visit) {
  TableSlice block = columns;
  block.rows = rows_of_block(columns.rows, group);
  for (int device = first_device; block.first_row < columns.rows; ++device) {
    block.rows = std::min(block.rows, columns.rows - block.first_row);
    visit(block, device);
    block.first_row += block.rows;
  }
}

}  // namespace neuroshard
