#pragma once

#include <vector>

#include "neuroshard/task.h"

namespace neuroshard {

// Tables in equal blocks of rows on devices side by side, as TorchRec's runtime cuts them: on all
// devices, or on those of a node.

/// Numbers of devices, side by side, over which the search cuts rows: all of them; then those of a
/// node, if there are several nodes and they divide the devices.
[[nodiscard]] std::vector<int> block_groups(const Task& task);

/// Whether the rules of `table` let it be cut to blocks on groups of `group` devices.
[[nodiscard]] bool may_be_cut(const Task& task, const Table& table, int group);

/// Or on any of these groups.
[[nodiscard]] bool may_be_in_blocks(const Task& task, const Table& table);

}  // namespace neuroshard
