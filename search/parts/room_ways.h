#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "neuroshard/task.h"

namespace neuroshard {

// In which ways the tables of a task may be on its devices, as far as memory and rules are
// concerned: for the search of a plan that has room for all (room_search.h).

/// Columns in units that a device may have several of.
struct ColumnCut {
  int unit_dim = 0;
  bool joined = true;               ///< All units of a device are one slice.
  std::uint32_t least_units = 1;    ///< Of a slice.
  std::vector<std::int64_t> bytes;  ///< Of 1, 2, ... units on a device, up to all.

  [[nodiscard]] std::uint32_t units() const { return static_cast<std::uint32_t>(bytes.size()); }
};

/// On several devices at once.
struct Spread {
  enum class Kind { kReplica, kRowWise, kNodeBlocks };
  Kind kind = Kind::kReplica;
  int first_device = 0;             ///< Of the node.
  std::vector<std::int64_t> bytes;  ///< [devices]
};

/// A table that is placed by itself, or tables that groups keep together.
struct Guest {
  std::vector<std::uint32_t> tables;
  std::vector<std::uint32_t> devices;  ///< That may hold slices.
  std::size_t most_slices = std::numeric_limits<std::size_t>::max();
  std::vector<ColumnCut> cuts;
  std::vector<Spread> spreads;
  std::int64_t least_bytes = std::numeric_limits<std::int64_t>::max();  ///< On all devices.
  std::int64_t least_slice_bytes = 0;  ///< Of what a device must have room for.
};

/// Guests that few devices may hold come first, and among them those that need most in one place.
/// `equal_widths`: all slices of a table are equally wide, and a device may have several.
[[nodiscard]] std::vector<Guest> guests_of(const Task& task, bool equal_widths);

}  // namespace neuroshard
