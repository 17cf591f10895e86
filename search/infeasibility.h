#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "neuroshard/plan_result.h"
#include "neuroshard/search_options.h"
#include "neuroshard/task.h"

namespace neuroshard {

/// Why no plan of `task` can exist whatever the search does: all devices together are too small, a
/// table split as far as it may be exceeds the devices that may hold it, or these are too small for
/// all that they alone may hold. Nothing if none of it holds.
[[nodiscard]] std::optional<Infeasibility> proof_of_infeasibility(const Task& task);

/// What a planner can do with tables beside keeping them in slices of columns.
struct ShardingMeans {
  Algorithm algorithm = Algorithm::kNeuroshard;
  bool row_blocks = false;
  bool replicas = false;
  bool nodes = false;  ///< Its cost models serve as many devices as there are nodes.
};

/// Why a table of `task` has no plan by these means: its rules leave no kind of sharding that they
/// can do. Nothing if there is no such table.
[[nodiscard]] std::optional<Infeasibility> kinds_out_of_reach(const Task& task,
                                                              const ShardingMeans& means);

/// What is left of `why`, a reason why halving columns led to no plan of `task`, if tables may be
/// in slices of any widths, and sharded by `means` besides: what is proven for all of that, or that
/// no way was found.
[[nodiscard]] Infeasibility as_far_as_proven(const Task& task, const ShardingMeans& means,
                                             Infeasibility why);

/// Says that `tables`, at least one, whose rules want them to be `how` ("replicated"), find no room
/// on the devices; or if they take `taken_bytes` of each device, that the others find none.
[[nodiscard]] Infeasibility no_room_beside(const Task& task, std::span<const std::uint32_t> tables,
                                           std::string_view how,
                                           std::optional<std::int64_t> taken_bytes);

/// A slice that packing could not do with smaller.
struct LargestSlice {
  int table = -1;
  std::int64_t size_bytes = 0;
};

/// Says that no packing was found, and the largest slice in the finest cut that was tried.
[[nodiscard]] Infeasibility packing_failure(const Task& task, const LargestSlice& largest);
/// The same for the finest cut by halves; `impossible`: it is proven that there is no packing of
/// halves.
[[nodiscard]] Infeasibility packing_failure(const Task& task, bool impossible);

/// Says that the search found no room and was not allowed to split tables for it.
[[nodiscard]] Infeasibility failure_without_memory_splits(const Task& task);

/// Says that the search was ended before it had a plan.
[[nodiscard]] Infeasibility nothing_in_time(const Task& task);

/// Says that a baseline found no room; all but kUniform do not split tables.
[[nodiscard]] Infeasibility baseline_failure(const Task& task, Algorithm algorithm);

}  // namespace neuroshard
