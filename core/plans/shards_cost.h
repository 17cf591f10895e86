#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/plans/host_rows.h"
#include "core/plans/in_node_traffic.h"
#include "neuroshard/backend.h"
#include "neuroshard/plan.h"

namespace neuroshard {

/// The shards of a complete placement. All is borrowed.
struct PlacedShards {
  const Task& task;                       ///< Its devices and what is reserved of them.
  std::span<const float> embeddings;      ///< [pieces, embedding width]
  std::span<const std::int32_t> columns;  ///< [pieces], output_columns()
  std::span<const SliceMemory> memory;    ///< [pieces]
  std::span<const std::int64_t> lookups;  ///< [pieces]: lookup_units().
  std::span<const std::int64_t> ids;      ///< [pieces]: id_units().
  /// [pieces]: of those that have a price of their kind; empty: none has.
  std::span<const std::optional<double>> prices_ms{};
  std::span<const std::int32_t> tables{};  ///< [pieces]: named in errors; empty: not known.
  /// [devices]; empty: the task has no host memory.
  std::span<const HostedPlan::OfDevice> hosted{};
  InNodeTraffic in_node{};
  /// Pieces of each device; embeddings are summed in their order.
  ShardBatch shards;
};

/// Sums of the pieces of one device.
struct ShardSums {
  int slices = 0;
  SliceMemory memory;
  std::int64_t dim_sum = 0;
  std::int64_t columns = 0;  ///< Columns of pieces without a price,
  std::int64_t ids = 0;      ///< and their ids.
  std::int64_t lookups = 0;
  float tables_ms = 0.0F;  ///< Compute cost on a device that computes as predicted.
};

/// Fills in what is reserved of a device and what is there already, and what `memory_bytes` leaves.
void add_what_is_there(const Task& task, std::size_t device, DeviceCost& cost);

/// Fills in what the device fetches from its host, for which it needs more time and room.
void add_hosted(const HostedPlan::OfDevice& hosted, DeviceCost& cost);

/// Sums of shards, of all devices or of some. Throws Error as cost_of_shards() does if a table
/// alone has a cost that is not finite.
[[nodiscard]] std::vector<ShardSums> sums_of_shards(const Backend& backend,
                                                    const PlacedShards& placed);

/// Predicted cost of a placement, device by device; the formula is at simulate(). Throws Error
/// (naming the model) on costs that are not finite. `sums`: [devices]; the others as PlacedShards
/// has them.
[[nodiscard]] PlanCost cost_of_sums(const Backend& backend, const Task& task,
                                    std::span<const HostedPlan::OfDevice> hosted,
                                    const InNodeTraffic& in_node, std::span<const ShardSums> sums);

/// Both at once: the error names the model, and the table if one alone does it.
[[nodiscard]] PlanCost cost_of_shards(const Backend& backend, const PlacedShards& placed);

}  // namespace neuroshard
