#pragma once

#include <span>
#include <vector>

#include "neuroshard/plan.h"

namespace neuroshard {

/// A slice, and who holds it.
struct HeldSlice {
  TableSlice slice;
  int device = 0;

  bool operator==(const HeldSlice&) const = default;
};

/// [tables of `task`]: all slices of each.
[[nodiscard]] std::vector<std::vector<HeldSlice>> slices_by_table(const Task& task,
                                                                  const Plan& plan);

/// The kinds of which a table that has these slices is, as in sharding_kinds(): at least one.
/// `held`: all slices of the table, at least one, each with rows and columns.
[[nodiscard]] std::vector<ShardingKind> kinds_of_slices(const Task& task,
                                                        std::span<const HeldSlice> held);

}  // namespace neuroshard
