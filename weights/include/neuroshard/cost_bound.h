#pragma once

#include "neuroshard/hardware.h"
#include "neuroshard/task.h"

#pragma GCC visibility push(default)
namespace neuroshard {

/// Milliseconds that every plan of `task` takes at least by analytic prices, if it fits and keeps
/// all rules. Infinite if there is no such plan; that it is finite does not mean that there is one.
/// `gpu` is what a device of speed 1 is. docs/bound.md says how it is found and why it holds.
/// Throws Error if `task` is not valid, or its plans may deduplicate single tables or have
/// hot rows: no bound is known of these.
[[nodiscard]] double cost_bound_ms(const GpuSpec& gpu, const NetworkSpec& network,
                                   const Task& task);

}  // namespace neuroshard
#pragma GCC visibility pop
