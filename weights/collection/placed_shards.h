#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "neuroshard/backend.h"
#include "neuroshard/task.h"

namespace neuroshard {

/// An operator's tables, as ids of augmented ones, and the samples that it serves.
struct DrawnShard {
  std::vector<int> ids;
  std::int64_t served = kDefaultBatchSize;
};

/// Devices of drawn tasks whose tables are cut and placed by what `backend` predicts. A search
/// comes to shards that its models take for cheaper than they are, and few draws do; these come to
/// them by small moves, without memory, exchanges and ways. `augmented`: of augment_dims() with
/// `max_dim`. Devices without slices are left out.
[[nodiscard]] std::vector<DrawnShard> draw_placed_shards(const Backend& backend,
                                                         std::span<const Table> augmented,
                                                         int max_dim, std::size_t tasks,
                                                         std::uint64_t seed);

}  // namespace neuroshard
