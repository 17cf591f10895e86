#pragma once

#include "core/base/random.h"
#include "neuroshard/task.h"

namespace neuroshard::testing {

/// Gives every other table rules on slices and devices, none of which contradict each other.
void add_random_rules_to_tables(Task& task, Random& random);

/// Gives some tables rules on nodes that contradict none which they have.
void add_random_node_rules(Task& task, Random& random);

/// Gives the devices of `task` memory, base loads and speeds of their own, from ample memory to too
/// little.
void add_random_devices(Task& task, Random& random);

/// add_random_rules_to_tables(), add_random_devices(), or both.
void add_random_rules(Task& task, Random& random);

/// Lets some tables be sharded in some ways only, slices of columns or the whole table among them.
void add_random_kinds(Task& task, Random& random);

/// Keeps up to `most` sets of some tables together or apart, so that the task stays valid.
void add_random_groups(Task& task, std::size_t most, Random& random);

/// By seed: none, add_random_rules(), add_random_kinds(), or add_random_groups().
void add_some_rules(Task& task, std::uint64_t seed, Random& random);

/// A task of a few devices and tables, small enough for a look at all of its plans, with
/// add_random_rules() and add_random_kinds(), every other one with a group.
[[nodiscard]] Task tiny_task_with_rules(std::uint64_t seed);

}  // namespace neuroshard::testing
