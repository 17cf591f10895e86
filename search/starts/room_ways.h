#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "search/bundled_task.h"
#include "search/state/table_ways.h"

namespace neuroshard {

// How tables may lie in the memory of devices: for the search of a plan that has room for all
// (room_search.h).

/// Columns of a table in units, of which each device gets some.
struct ColumnCut {
  enum class Slices {
    kOne,     ///< The units of a device are one slice,
    kHalves,  ///< or as few as halves of halves of the table can be,
    kUnits,   ///< or each is one.
  };
  Slices slices = Slices::kOne;
  int unit_dim = 0;
  int units = 1;
  int least_units = 1;  ///< A slice has no fewer.
  std::int64_t unit_bytes = 0;
  std::int64_t slice_bytes = 0;  ///< A slice takes them beside those of its units.

  [[nodiscard]] bool equal_widths() const { return slices == Slices::kUnits; }
  /// Units of the first slice that so many units of a device are.
  [[nodiscard]] int units_of_slice(int some) const;
  /// Slices that they are.
  [[nodiscard]] int slices_of(int some) const;
  [[nodiscard]] std::int64_t bytes(int some) const {
    return some * unit_bytes + slices_of(some) * slice_bytes;
  }
  /// At least bytes() of so many, or of fewer.
  [[nodiscard]] std::int64_t most_bytes(int some) const;
  /// So many units of `some` have room.
  [[nodiscard]] int fit(int some, std::int64_t room) const;
  friend bool operator==(const ColumnCut&, const ColumnCut&) = default;
};

/// A table on several devices side by side at once: in row blocks, or replicated.
struct Spread {
  bool is_replica = false;
  std::size_t first_device = 0;
  std::vector<std::int64_t> bytes;  ///< On this device and those after it.

  [[nodiscard]] std::int64_t total_bytes() const;
};

/// A table, or several that are placed as one.
struct RoomTable {
  std::size_t table = 0;
  std::vector<bool> devices{};  ///< That may hold slices.
  std::size_t holders = 0;      ///< So many.
  std::size_t most_slices = 1;
  std::vector<ColumnCut> cuts{};  ///< Ways to share its columns out, the coarsest first.
  std::vector<Spread> spreads{};

  [[nodiscard]] std::size_t ways() const { return cuts.size() + spreads.size(); }
  /// On all devices, in the way that takes least.
  [[nodiscard]] std::int64_t least_bytes() const;
};

/// One of each RoomTable's cuts, or of its spreads, which count after them.
using ChosenWays = std::vector<std::size_t>;

/// All tables, the largest first.
[[nodiscard]] std::vector<RoomTable> room_tables(const BundledTask& bundled, const TableWays& ways);

}  // namespace neuroshard
