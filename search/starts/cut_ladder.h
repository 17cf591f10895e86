#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "neuroshard/backend.h"
#include "neuroshard/stop_condition.h"
#include "search/layout.h"

namespace neuroshard {

/// How finely every table is cut, all slices of a table alike, and in which order the slices are
/// placed.
struct LadderRung {
  enum class Order { kCost, kColumns };  ///< Costliest first; or widest, then costliest.

  std::vector<std::uint32_t> piece_of_table;
  Order order = Order::kCost;
  std::size_t slices = 0;
};

/// Ways of cutting that span what can pay: every table to one of the widths 4 ... 256; and halved
/// until no slice exceeds a share of the mean cost of a device, of its columns, or of both, for
/// shares from 4 to 0.01. Slices that exceed the devices that may hold
/// them are halved in any case, rules permitting.
/// `fineness`: rungs between a share and its half. No two rungs are alike. Those of fewer slices
/// come first, and the sum of slices is at most `most_slices`, but for the first rung. None if
/// `stop` is reached.
[[nodiscard]] std::vector<LadderRung> cut_ladder(const PieceCatalog& catalog, const Task& task,
                                                 int fineness, std::size_t most_slices,
                                                 const StopCondition& stop = {});

/// [tables]: those that at most half of the devices may hold, and that are placed before the others
/// fill these. Empty if no table has rules on devices.
[[nodiscard]] std::vector<bool> tables_to_place_first(const Task& task);

/// Slices of a rung in the order of placement; their devices are 0.
[[nodiscard]] Layout ordered_slices(const PieceCatalog& catalog, const LadderRung& rung,
                                    const std::vector<bool>& first = {});

/// Puts slices of any widths into the order of placement.
void order_slices(const PieceCatalog& catalog, LadderRung::Order order,
                  const std::vector<bool>& first, Layout& slices);

/// Limits on a device's dim sum for placements of the rungs: from the mean, rounded up to what
/// slices of 4 columns can reach, to no limit at all, ascending.
[[nodiscard]] std::vector<std::int64_t> ladder_dim_limits(const Task& task);

}  // namespace neuroshard
