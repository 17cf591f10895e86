#pragma once

#include <type_traits>

#include "core/kernels/unroll.h"

namespace neuroshard {

/// Calls `tile(kRows, first)` for tiles of kMost of the rows, then for one of those that are left.
/// kRows is an integral constant, so that a tile's sums can be registers.
template <int kMost, typename Tile>
[[gnu::always_inline]] inline void for_row_tiles(int rows, Tile&& tile) {
  int first = 0;
  for (; rows - first >= kMost; first += kMost) tile(std::integral_constant<int, kMost>{}, first);
  unroll<kMost - 1>([&](auto less) __attribute__((always_inline)) {
    if (rows - first == less + 1) tile(std::integral_constant<int, less + 1>{}, first);
  });
}

}  // namespace neuroshard
