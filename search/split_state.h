#pragma once

#include <cstdint>
#include <vector>

#include "search/piece_catalog.h"

namespace neuroshard {

/// A list of column splits and what it makes of the tables.
struct SplitState {
  std::vector<int> column_splits;
  std::vector<std::uint32_t> pieces;  ///< Piece of each slice.
  /// Slices in the order of placement: costliest first, the later slice first on equal costs (the
  /// published code sorts ascending, stably, and takes from the end).
  std::vector<std::uint32_t> order;

  /// The unsplit tables.
  SplitState(const PieceCatalog& catalog, std::size_t tables);

  /// Halves slice `slice`, which can be split.
  void split(const PieceCatalog& catalog, std::uint32_t slice);

  /// Pieces in the order of placement, appended to `out`.
  void append_ordered_pieces(std::vector<std::uint32_t>& out) const;
  /// Appends the pieces as if `slice`, which can be split, had been split.
  void append_child_pieces(const PieceCatalog& catalog, std::uint32_t slice,
                           std::vector<std::uint32_t>& out) const;
};

/// Slices worth splitting: the `count` largest and the `count` costliest, in ascending order; those
/// that cannot be split are left out.
[[nodiscard]] std::vector<std::uint32_t> split_candidates(const PieceCatalog& catalog,
                                                          const SplitState& state, int count);

}  // namespace neuroshard
