#pragma once

#include <vector>

#include "neuroshard/plan.h"

#pragma GCC visibility push(default)
namespace neuroshard {

// A device that is ready for the forward all-to-all before the last one waits for it, and its
// DeviceCost::forward_ms has that in it. All else that a device takes is its work. `cost` is that
// of a plan.

/// [devices]: milliseconds by which each begins its forward all-to-all later than the first one. It
/// begins after compute without replicas, which run later, and backward.
[[nodiscard]] std::vector<double> start_offsets_ms(const PlanCost& cost);

/// [devices]: milliseconds that each waits, in its forward all-to-all, for the device that is ready
/// for it last. They are at most the time of that all-to-all.
[[nodiscard]] std::vector<double> waits_ms(const PlanCost& cost);

/// [devices]: DeviceCost::total_ms() without waits_ms().
[[nodiscard]] std::vector<double> work_ms(const PlanCost& cost);

/// The device that decides what a plan costs: the one with most work. Where devices wait, it may
/// cost less than they do.
[[nodiscard]] int deciding_device(const PlanCost& cost);

/// Work of the deciding device over the mean of all devices' work. 1 is perfect balance, also if
/// nobody works.
[[nodiscard]] double imbalance(const PlanCost& cost);

}  // namespace neuroshard
#pragma GCC visibility pop
