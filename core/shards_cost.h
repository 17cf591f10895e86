#pragma once

#include <cstdint>
#include <span>

#include "neuroshard/backend.h"
#include "neuroshard/plan.h"

namespace neuroshard {

/// The shards of a complete placement. Spans are borrowed.
struct PlacedShards {
  int devices = 0;
  std::int64_t usable_bytes = 0;  ///< Of one device.
  std::int64_t reserved_bytes = 0;
  std::span<const float> embeddings;    ///< [pieces, embedding width]
  std::span<const std::int32_t> dims;   ///< [pieces]
  std::span<const SliceMemory> memory;  ///< [pieces]
  /// Pieces of each device; embeddings are summed in their order.
  ShardBatch shards;
};

/// Predicted cost of a placement, device by device; the formula is at simulate(). Throws Error
/// (naming the model) on costs that are not finite.
[[nodiscard]] PlanCost cost_of_shards(const Backend& backend, const PlacedShards& placed);

}  // namespace neuroshard
