#pragma once

#include <cstdint>
#include <span>

#include "neuroshard/backend.h"
#include "neuroshard/plan.h"
#include "neuroshard/task.h"

namespace neuroshard {

/// Adds `tables` to `plan` in blocks of rows on the devices of nodes, as many of them as keep nodes
/// alike: each table on one node, or, where rules allow grids and nodes are nearer to each other by
/// it, some of the dearest in equal slices of columns, one a node. `plan` has equal loads on all
/// nodes. Nodes are some of block_groups(), and `backend` has a price of such blocks. Where a node
/// has no room for them, has_room_beside() says so afterwards.
void add_node_blocks(Plan& plan, const Backend& backend, const Task& task,
                     std::span<const std::uint32_t> tables);

}  // namespace neuroshard
