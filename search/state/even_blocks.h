#pragma once

#include <cstdint>
#include <vector>

#include "neuroshard/plan.h"
#include "neuroshard/task.h"

namespace neuroshard {

// Tables in equal blocks of rows on devices side by side, as TorchRec's runtime cuts them: on all
// devices, or on those of a node.

/// Numbers of devices, side by side, over which the search cuts rows: all of them; then those of a
/// node, if there are several nodes and they divide the devices.
[[nodiscard]] std::vector<int> block_groups(const Task& task);

/// Whether the rules of `table` let it be cut to blocks on groups of `group` devices.
[[nodiscard]] bool may_be_cut(const Task& task, const Table& table, int group);

/// The block of `table` on `group` devices that has most lookups: all devices wait for its operator
/// and ids. It gets as many rows as the first block, the largest, so that no block takes more
/// memory. Without row shares it is the first. The result is a table of its own, with the rules of
/// `table` as far as they say something of blocks.
[[nodiscard]] Table busiest_block(const Task& task, std::uint32_t table, int group);

/// All tables of a task for one device as they are, on this. Does not look at memory.
[[nodiscard]] Plan plan_of_one_group(const Task& task);

/// Adds blocks of the columns of `slice` to `plan`: one on each of `group` devices, from
/// `first_device` on. Few rows may leave nothing for the last of them.
void add_blocks(Plan& plan, const Task& task, TableSlice slice, int first_device, int group);

}  // namespace neuroshard
