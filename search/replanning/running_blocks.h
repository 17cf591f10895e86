#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "neuroshard/replan.h"

namespace neuroshard {

/// Some columns of a table in equal blocks on devices side by side.
struct ColumnsInBlocks {
  int first_column = 0;
  int dim = 0;
  int node = 0;  ///< The group of devices that they are on.
};

/// Tables of a running plan in equal blocks of rows, as the search makes them.
struct RunningBlocks {
  std::set<std::uint32_t> row_wise;  ///< All columns in one block on each device.
  /// All columns of each on the devices of some nodes, by the table.
  std::map<std::uint32_t, std::vector<ColumnsInBlocks>> on_nodes;
};

/// Those of `running`, whose plan is valid.
[[nodiscard]] RunningBlocks running_blocks(const RunningPlan& running);

}  // namespace neuroshard
