#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/device_set.h"
#include "neuroshard/task.h"

namespace neuroshard {

/// How a slice of columns lies on devices: the number of a WayForm, in its list, or kReplica.
enum class Way : std::uint8_t {
  kDevice,      ///< All rows on one device.
  kTwo,         ///< Equal blocks of rows on two devices of a node, side by side,
  kFour,        ///< or on four,
  kEight,       ///< or on eight.
  kNode,        ///< Equal blocks of rows on the devices of a node.
  kAll,         ///< Equal blocks of rows on all devices.
  kDeviceOnce,  ///< On a device, a node or all, of a deduplicated table (Plan::deduplicated).
  kNodeOnce,
  kAllOnce,
  kReplica = 0xff  ///< All of the table on every device: no form of blocks.
};

/// How a table is cut.
struct TableCut {
  Way way = Way::kDevice;
  int slices = 1;  ///< Parts that its columns are cut to.
  friend bool operator==(const TableCut&, const TableCut&) = default;
};

/// Columns of a table, somewhere.
struct StateSlice {
  int table = 0;
  int width = 0;
  Way way = Way::kDevice;
  int place = 0;  ///< One of TableWays::places().

  [[nodiscard]] StateSlice at(int other_place) const { return {table, width, way, other_place}; }
  [[nodiscard]] StateSlice wide(int other_width) const { return {table, other_width, way, place}; }

  friend bool operator==(const StateSlice&, const StateSlice&) = default;
};

/// A way of sharding: the rows of a slice are in equal blocks on devices side by side. Whoever
/// makes, changes, prices or reads plans knows a way by this alone.
struct WayForm {
  /// Devices that share the rows, the places of slices being the first of them, the next, and so
  /// on; 0: those of the task are no such groups.
  int (*group)(const Task& task);
  /// Slices of columns that the rules of a table allow at most; 0: it may not be sharded so.
  int (*most_slices)(const Task& task, const Table& table, int group);
  /// Share of the tables that a search cuts anew, as far as they may be so.
  double drawn;
  bool deduplicated = false;  ///< Each device asks once for each row (Plan::deduplicated).
  /// Whether groups are parts of nodes, which TorchRec has no blocks of rows on.
  bool of_part = false;
};

/// No list of forms is longer.
inline constexpr std::size_t kMostForms = 12;

/// The ways of the planner, kDevice first.
[[nodiscard]] std::span<const WayForm> way_forms();

/// WayForm::group() of a way of the planner, and its most_slices(), which is 0, too, if there are
/// no such groups.
[[nodiscard]] int devices_of_slice(const Task& task, Way way);
[[nodiscard]] int most_slices_of(const Task& task, const Table& table, Way way);

/// Whether a plan of `task` may deduplicate `table`.
[[nodiscard]] bool may_be_deduplicated(const Task& task, const Table& table);

/// Whether the rules of `table` forbid places that its ways have.
[[nodiscard]] bool limits_places(const Task& task, const Table& table);
/// Whether they let a slice on `group` devices be at a place. `allowed`: allowed_set(). A part
/// of other nodes may be all of the last one, where blocks are a grid.
[[nodiscard]] bool may_be_at(const Task& task, const Table& table, const DeviceSet& allowed,
                             int group, int place);

/// WayForm::of_part of a way of the planner; false of kReplica.
[[nodiscard]] bool is_of_part(Way way);

/// Whether the rules of `table` let it be in row blocks. `parts`: also on parts of nodes.
[[nodiscard]] bool may_be_in_blocks(const Task& task, const Table& table, bool parts = true);

/// WayForm::most_slices() of blocks within nodes, be it on all devices of one or on some.
[[nodiscard]] int most_slices_in_blocks(const Task& task, const Table& table, int group);

}  // namespace neuroshard
