#pragma once

#include <cstdint>

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

}  // namespace neuroshard
