#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/plans/sharding_kinds.h"
#include "search/state/running_holders.h"
#include "search/state/table_ways.h"

namespace neuroshard {

/// In the place of a device or node: a slice has yet to be placed.
inline constexpr int kNowhere = -1;

/// A table of a new task, sharded as it runs as far as that may be.
struct CarriedTable {
  /// Nothing: no way is left to it, or it is `in_place`.
  std::optional<Way> way;
  /// In the order of their columns; some at kNowhere. None: it is to be cut and placed anew.
  std::vector<StateSlice> slices{};
  /// Blocks of rows of no way, which stay where they are.
  std::vector<HeldSlice> in_place{};
  /// Its columns are no nodes of halvings.
  bool odd_widths = false;
  /// Devices have to be sent so much for it.
  std::int64_t moved_bytes = 0;
};

/// Says what tables are carried over to.
struct CarryOptions {
  /// With replicas, tables that cannot stay as they run may come in any way. Widths of halves are
  /// those of tables of which no others run.
  WayOptions ways{};
  bool keep_blocks = true;    ///< Rows in blocks on nodes, or in no way of ours.
  bool keep_replicas = true;  ///< Though tables may be in columns.
};

/// [tables of the new task].
[[nodiscard]] std::vector<CarriedTable> carried_tables(const RunningHolders& holders,
                                                       const CarryOptions& options);

}  // namespace neuroshard
