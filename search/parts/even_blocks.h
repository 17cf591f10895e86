#pragma once

#include <cstdint>

#include "neuroshard/plan.h"
#include "neuroshard/task.h"

namespace neuroshard {

// Tables in equal blocks of rows on devices side by side, as TorchRec's runtime cuts them.

/// Of `blocks` equal blocks the one with most lookups, for whose operator and ids all devices wait,
/// with as many rows as the largest, the first, has: no block takes more memory. As a table of its
/// own. Without row shares that is the first.
[[nodiscard]] Table busiest_block(const Task& task, std::uint32_t table, int blocks);

/// Whether the rules of `table` let it be cut to blocks on groups of `group` of the task's devices.
[[nodiscard]] bool may_be_cut_by_rows(const Table& table, int group, int devices);

/// Adds blocks of the columns of `slice`, which has all rows of its table, to `plan`: one on each
/// of `group` devices, from `first_device` on. Few rows may leave nothing for the last of them.
void add_blocks(Plan& plan, const Task& task, const TableSlice& slice, int first_device, int group);

}  // namespace neuroshard
