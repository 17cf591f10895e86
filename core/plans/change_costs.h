#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/plans/host_rows.h"
#include "core/plans/placed_pieces.h"
#include "core/plans/priced_plan.h"
#include "core/plans/replicas.h"
#include "neuroshard/backend.h"
#include "neuroshard/explanation.h"

namespace neuroshard {

using ChangeShard = std::vector<std::uint32_t>;  ///< Pieces of a device.

/// A device with other pieces than in the plan, or another base load or speed than the task's.
struct ChangedShard {
  std::size_t device;
  ChangeShard pieces;
  std::optional<double> base_ms{};
  std::optional<double> speed{};
};
using PlanChange = std::vector<ChangedShard>;

/// Prices changes of a plan, as simulate() does.
class ChangeCosts {
 public:
  /// Borrows all. `pieces` are embedded, `shards` [devices] those of the plan. `devices` are its
  /// costs by simulate().
  ChangeCosts(const Backend& backend, const PricedPlan& priced, const PlacedPieces& pieces,
              const std::vector<ChangeShard>& shards, const std::vector<DeviceCost>& devices);

  /// The cost of replicas changes with speeds alone. Infinite where predictions overflow.
  [[nodiscard]] ChangedCost of(const PlanChange& change) const;

 private:
  [[nodiscard]] double fetched_ms(std::size_t device, const ChangeShard& shard) const;

  const Task& task_;
  const PlacedPieces& pieces_;
  const std::vector<ChangeShard>& shards_;
  Task devices_;                                ///< Without tables.
  std::vector<HostedPlan::OfDevice> hosted_{};  ///< [devices] of a task with host memory.
  mutable HostCurves host_curves_;
  std::int64_t replica_bytes_;  ///< On each device.
  std::optional<ReplicasCost> replicas_;
  bool any_slices_;
};

}  // namespace neuroshard
